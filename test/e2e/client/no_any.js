// no_any.js FOLDER FILE - prints where a TypeScript file says any; FOLDER has the typescript package.
const [folder, file] = process.argv.slice(2);
const ts = require(`${folder}/typescript`);
const source = ts.createSourceFile(file, ts.sys.readFile(file), ts.ScriptTarget.Latest, true);
(function visit(node) {
  if (node.kind === ts.SyntaxKind.AnyKeyword) {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart());
    console.log(`${line + 1}: ${source.text.split("\n")[line].trim()}`);
  }
  ts.forEachChild(node, visit);
})(source);
