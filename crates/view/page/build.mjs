// Bundles the page into dist/, or the unit tests into .build/ (with `--tests`).
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { build } from 'esbuild';

const common = { bundle: true, jsx: 'automatic', jsxImportSource: 'preact', charset: 'utf8', logLevel: 'warning' };

if (process.argv.includes('--tests')) {
  await rm('.build', { recursive: true, force: true });
  const tests = (await readdir('test/unit')).filter((name) => name.endsWith('.test.ts'));
  await build({
    ...common,
    entryPoints: tests.map((name) => `test/unit/${name}`),
    outdir: '.build',
    outExtension: { '.js': '.mjs' },
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
  });
} else {
  await mkdir('dist', { recursive: true });
  // A classic script (`iife`) also runs when it is embedded in a file that a browser opens
  // from a disk; module scripts are refused there. `</script` never occurs in the output.
  await build({
    ...common,
    entryPoints: { view: 'src/main.tsx' },
    outdir: 'dist',
    format: 'iife',
    target: ['chrome111', 'firefox113', 'safari16.4'],
    minify: true,
    legalComments: 'eof',
  });
  await build({ ...common, entryPoints: { view: 'src/view.css' }, outdir: 'dist', minify: true, target: ['chrome111', 'firefox113', 'safari16.4'] });
  await copyFile('src/index.html', 'dist/index.html');
  // The policy of a stand-alone page allows this script and this style sheet alone.
  const hash = async (name) => createHash('sha256').update(await readFile(`dist/${name}`)).digest('base64');
  await writeFile('dist/view.sha256', `${await hash('view.js')}\n${await hash('view.css')}\n`);
}
