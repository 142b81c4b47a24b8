// Builds the page into ../dist, which is embedded into the program: bundles with names by their contents, a manifest that says which file is
// which, and the licences of the libraries in them. The same sources give the same bytes. `node build.mjs DIR` builds into another directory.
import {build} from 'esbuild';
import {mkdir, readFile, readdir, rm, writeFile} from 'node:fs/promises';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {xterm} from './xterm.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.resolve(process.argv[2] ?? path.join(here, '../dist'));

const result = await build({
  absWorkingDir: here,
  entryPoints: {main: 'src/main.tsx', style: 'src/styles/style.css'},
  outdir: out,
  bundle: true, splitting: true, format: 'esm', minify: true, target: ['es2022', 'chrome115', 'firefox115', 'safari16.4'],
  entryNames: '[name]-[hash]', chunkNames: 'chunk-[hash]', assetNames: '[name]-[hash]',
  jsx: 'automatic', jsxImportSource: 'preact',
  plugins: [xterm],
  loader: {'.svg': 'dataurl', '.woff2': 'file'},
  legalComments: 'none', metafile: true, write: false, logLevel: 'warning', charset: 'utf8',
  define: {'process.env.NODE_ENV': '"production"'},
});

// The new files are there before the old ones go, for whoever builds the program meanwhile.
await mkdir(out, {recursive: true});
const old = new Set(await readdir(out));
for (const file of result.outputFiles) {
  if (!old.delete(path.basename(file.path))) await writeFile(file.path, file.contents);
}

// What a page loads at once, by the name of its entry point: the file itself and those that it imports statically. Pages have a module each.
const outputs = result.metafile.outputs;
const name = (file) => path.basename(file);
const manifest = {};
for (const [file, output] of Object.entries(outputs)) {
  if (!output.entryPoint || !/^src\/(main\.tsx|pages\/\w+\.tsx|styles\/style\.css)$/.test(output.entryPoint)) continue;
  const needs = new Set();
  const visit = (f) => {
    for (const i of outputs[f].imports) {
      if (i.kind === 'import-statement' && !needs.has(i.path)) {
        needs.add(i.path);
        visit(i.path);
      }
    }
  };
  visit(file);
  manifest[path.parse(output.entryPoint).name + path.extname(file)] = {file: name(file), imports: [...needs].map(name).sort()};
}
await writeFile(path.join(out, 'manifest.json'), JSON.stringify(manifest, Object.keys(manifest).sort().concat('file', 'imports'), 1) + '\n');

// The licences ask for their texts to go where the code goes.
const packages = new Set();
for (const input of Object.keys(result.metafile.inputs)) {
  const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (found) packages.add(found[1]);
}
let licences = 'The page of vmseed contains these libraries.\n';
for (const p of [...packages].sort()) {
  const dir = path.join(here, 'node_modules', p);
  const about = JSON.parse(await readFile(path.join(dir, 'package.json'), 'utf8'));
  const file = (await readdir(dir)).find((f) => /^licen[cs]e/i.test(f));
  const text = file ? await readFile(path.join(dir, file), 'utf8') : `License: ${about.license}\n`;
  licences += `\n${'-'.repeat(80)}\n${about.name} ${about.version}\n\n${text.trim()}\n`;
}
await writeFile(path.join(out, 'licences.txt'), licences);
for (const file of ['manifest.json', 'licences.txt']) old.delete(file);
for (const file of old) await rm(path.join(out, file), {force: true});
