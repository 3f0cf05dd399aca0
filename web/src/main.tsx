import "./prefs";
import { render } from "preact";
import { Frame } from "./frame";
import { startLive } from "./live";
import { startRouter } from "./router";

startRouter();
startLive();
render(<Frame />, document.getElementById("app")!);
