import { defineConfig } from "vite";

// The program serves what lies here under /console/ (src/api/console_api.c). No script stands in a page, for the policy
// forbids it, and names change with what they name, for they are kept forever.
export default defineConfig({
  base: "/console/",
  publicDir: false,
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    target: "es2022",
    minify: "terser", // a kilobyte less than esbuild, of the sixty that the first load may have
    terserOptions: { module: true, compress: { passes: 2 } },
    cssTarget: ["chrome123", "firefox120", "safari17.5"], // which know light-dark()
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: true,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 300,
    rollupOptions: {
      output: {
        // What nearly every page has is one file: many small ones are packed worse, and asked for one by one.
        manualChunks: (id) => (/src\/parts\/(action|badge|copy|detail|dialog|empty|load|parts\.words|problem|table|time)\.tsx?$/.test(id) ? "parts" : undefined),
        entryFileNames: "[name]-[hash].js",
        chunkFileNames: "[name]-[hash].js",
        assetFileNames: "[name]-[hash][extname]",
      },
    },
  },
});
