import { defineConfig } from "vite";

// The program serves what lies here under /console/ (src/api/console_api.c). No script stands in a page, for the policy
// forbids it, and names change with what they name, for they are kept forever.
export default defineConfig({
  base: "/console/",
  publicDir: false,
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: true,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 300,
    rollupOptions: {
      output: {
        entryFileNames: "[name]-[hash].js",
        chunkFileNames: "[name]-[hash].js",
        assetFileNames: "[name]-[hash][extname]",
      },
    },
  },
});
