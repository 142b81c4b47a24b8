// xterm.js puts its rules into style elements and colours into style attributes, which the page's policy (CSP) does not allow. This plugin for
// esbuild makes it do the same through the CSSOM, which is: a sheet that the document adopts, and the style object. It finds what it changes
// exactly as often as release 6.0.0 has it, or the build fails.
import {readFile} from 'node:fs/promises';

const edits = [
  {find: /\b(?:this\._document|\w+\.mainDocument)\.createElement\("style"\)/g, put: () => 'adoptedStyle()', times: 3},
  {find: /\b(\w+)\.setAttribute\("style",`\$\{\1\.getAttribute\("style"\)\|\|""\}\$\{(\w+)\};`\)/g, put: (_, element, style) => `${element}.style.cssText+=${style}+";"`, times: 1},
];

/** xterm is the plugin. */
export const xterm = {
  name: 'xterm',
  setup(build) {
    build.onLoad({filter: /node_modules[\\/]@xterm[\\/]xterm[\\/]lib[\\/]xterm\.mjs$/}, async ({path}) => {
      let contents = await readFile(path, 'utf8');
      for (const {find, put, times} of edits) {
        let found = 0;
        contents = contents.replace(find, (...match) => {
          found++;
          return put(...match);
        });
        if (found !== times) return {errors: [{text: `${find} is in xterm.js ${found} times instead of ${times}`}]};
      }
      return {contents: 'import {adoptedStyle} from "../../../../src/lib/adoptedstyle";\n' + contents};
    });
  },
};
