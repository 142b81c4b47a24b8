// Bundles the tests beside the sources and runs them with Node's own test runner.
import {build} from 'esbuild';
import {spawnSync} from 'node:child_process';
import {mkdtemp, readdir, rm} from 'node:fs/promises';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const tests = (await readdir(path.join(here, 'test'))).filter((f) => /\.test\.tsx?$/.test(f)).map((f) => path.join(here, 'test', f));
const dir = await mkdtemp(path.join(here, 'node_modules/.test-'));
try {
  await build({entryPoints: tests, outdir: dir, bundle: true, format: 'esm', platform: 'node', target: 'node18', outExtension: {'.js': '.mjs'},
    jsx: 'automatic', jsxImportSource: 'preact', logLevel: 'warning', packages: 'external'});
  const run = spawnSync(process.execPath, ['--test', ...tests.map((t) => path.join(dir, path.basename(t).replace(/\.tsx?$/, '.mjs')))], {stdio: 'inherit'});
  process.exitCode = run.status ?? 1;
} finally {
  await rm(dir, {recursive: true, force: true});
}
