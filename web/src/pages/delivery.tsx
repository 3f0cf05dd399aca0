export { Unbuilt as default } from "../parts/unbuilt";
