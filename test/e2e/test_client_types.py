"""A TypeScript client made from /openapi.json: it compiles strictly, and nothing in it is any."""
import json
import pathlib
import shutil
import subprocess

from harness import PATIENCE, Skip, equal, main, only
from server import ROOT

SETUP = ROOT / "tools" / "setup.sh"
CLIENT = pathlib.Path(__file__).resolve().parent / "client"
OPTIONS = {"strict": True, "noEmit": True, "exactOptionalPropertyTypes": True,
           "noUncheckedIndexedAccess": True, "skipLibCheck": False, "target": "es2022",
           "module": "es2022", "moduleResolution": "bundler", "lib": ["es2022"], "types": []}


def run(*words, cwd=None):
    return subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True,
                          timeout=300 * PATIENCE)


def node_modules():
    """The packages that tools/setup.sh names; installed now where they are missing."""
    done = run(SETUP, "client")
    if done.returncode != 0:
        raise Skip(f"the npm packages cannot be installed: {done.stderr.strip()[-300:]}")
    return ROOT / "build-npm" / "node_modules"


def uses(document):
    """One line for each operation: it can be called, and its answer is typed."""
    yield 'import type { Answer, Assert, Body, IsTyped } from "./usage";'
    yield 'import { call } from "./usage";'
    for methods in document["paths"].values():
        for told in methods.values():
            name = told["operationId"]
            yield f'export const {name} = (body: Body<"{name}">) => call("{name}", body);'
            yield f'export type {name}Answer = Assert<IsTyped<Answer<"{name}">>>;'


@only("sqlite")
def test_a_typescript_client_has_no_any(ctx):
    modules, document = node_modules(), ctx.peal.get("/openapi.json", expect=200).json
    folder = ctx.folder / "client"
    shutil.copytree(CLIENT, folder)
    (folder / "openapi.json").write_text(json.dumps(document))
    (folder / "operations.ts").write_text("\n".join(uses(document)) + "\n")
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": OPTIONS,
                                                      "include": ["*.ts"]}))
    made = run("node", modules / "openapi-typescript" / "bin" / "cli.js", "openapi.json", "-o",
               "peal.ts", cwd=folder)
    equal(made.returncode, 0, made.stderr)
    equal(run("node", CLIENT / "no_any.js", modules, folder / "peal.ts").stdout, "")
    compiled = run("node", modules / "typescript" / "bin" / "tsc", "-p", ".", cwd=folder)
    equal(compiled.returncode, 0, compiled.stdout)


if __name__ == "__main__":
    main()
