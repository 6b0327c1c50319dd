// Opens a profile in speedscope's page, in a browser without a window, and saves what it has read.
//
//     node speedscope_page.js MODULES CHROMIUM PROFILE SAVED [PICTURE]
//
// MODULES is a node_modules folder with speedscope and playwright-core. SAVED is the file that the
// page writes at Ctrl+S: the loaded profiles in speedscope's format. PICTURE is a PNG of the page.

const path = require('path');
const {fail, launch, serve} = require('./browser.js');

const TIMEOUT = 600_000;

/** Loads the profile. Throws if the page shows an error or no profile. */
async function open(page, url, profile) {
  const problems = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('dialog', (dialog) => {
    problems.push(dialog.message());
    dialog.dismiss();
  });
  // With a title of its own, the page would call all profiles by it.
  const source = `${url}/profile/${encodeURIComponent(path.basename(profile))}`;
  await page.goto(`${url}/#profileURL=${encodeURIComponent(source)}`);
  await page.waitForFunction(() => {
    const text = document.body.innerText;
    const isLoaded = /Time Order/.test(text) && document.querySelector('canvas');
    return isLoaded || /something went wrong|unrecognized/i.test(text);
  }, null, {timeout: TIMEOUT});
  const text = await page.evaluate(() => document.body.innerText);
  if (!/Time Order/.test(text)) problems.push(text);
  if (problems.length > 0) throw Error(problems.join('\n'));
}

async function main([modules, chromium, profile, saved, picture]) {
  const release = path.resolve(modules, 'speedscope/dist/release');
  const server = await serve((name) => name.startsWith('/profile/') ? profile
    : path.join(release, name === '/' ? 'index.html' : path.basename(name)));
  const url = `http://127.0.0.1:${server.address().port}`;
  const browser = await launch(modules, chromium);
  try {
    const page = await browser.newPage({viewport: {width: 1400, height: 800}, acceptDownloads: true});
    await open(page, url, profile);
    if (picture) await page.screenshot({path: picture});
    const download = page.waitForEvent('download', {timeout: TIMEOUT});
    await page.keyboard.press('Control+s');
    await (await download).saveAs(saved);
  } finally {
    await browser.close();
    server.close();
  }
}

main(process.argv.slice(2)).catch(fail);
