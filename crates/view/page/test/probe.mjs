import { launch, startView } from './start.mjs';
import { readFileSync } from 'node:fs';
const browser = await launch();
const own = await browser.newBrowserCDPSession();
async function mem(tag, page) {
  const { processInfo } = await own.send('SystemInfo.getProcessInfo');
  for (const { type, id } of processInfo) {
    if (type !== 'renderer' && type !== 'GPU' && type!=='gpu-process') continue;
    let r = ''; try { r = readFileSync(`/proc/${id}/smaps_rollup`, 'utf8'); } catch { continue; }
    const g = (n) => (Number(new RegExp(`^${n}:\\s+(\\d+)`, 'm').exec(r)?.[1] ?? 0) / 1024).toFixed(0);
    console.log(tag, type, id, 'rss', g('Rss'), 'pss', g('Pss'), 'private dirty', g('Private_Dirty'), 'anon', g('Anonymous'), 'shmem', g('Pss_Shmem'), 'file', g('Pss_File'));
  }
}
const context = await browser.newContext({ viewport: { width: 1920, height: 1080 } });
const page = await context.newPage();
await page.goto('about:blank');
await mem('blank');
const server = await startView(process.env.JTRAIL, [process.argv[2]]);
await page.goto(server.address);
await page.waitForTimeout(5000);
await mem('loaded');
const canvas = page.locator('.timeline canvas');
let seed = 1;
const random = () => { seed = (seed * 16807) % 2147483647; return seed / 2147483647; };
let depth = 0;
for (let n = 0; n < Number(process.argv[3] ?? 60); n++) {
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width * (0.1 + 0.8 * random()), box.y + Math.min(box.height - 10, 40 + 200 * random()));
  const isOut = depth > 36 || (depth > 4 && random() < 0.25);
  const turns = isOut ? 2 + Math.floor(random() * depth) : 1 + Math.floor(random() * 6);
  for (let t = 0; t < turns; t++) { await page.mouse.wheel(0, isOut ? 240 : -240); await page.waitForTimeout(30); }
  depth = Math.max(0, depth + (isOut ? -turns : turns));
  await page.waitForTimeout(300);
  if (n % 20 === 19) {
    await mem('after ' + n);
  }
}

await own.send('Tracing.start', { transferMode: 'ReturnAsStream', traceConfig: { includedCategories: ['disabled-by-default-memory-infra'], excludedCategories: ['*'], memoryDumpConfig: { triggers: [] } } });
const d = await own.send('Tracing.requestMemoryDump', { levelOfDetail: 'detailed' });
const done = new Promise((ok) => own.once('Tracing.tracingComplete', ok));
await own.send('Tracing.end');
const { stream } = await done;
let text = '';
for (;;) { const { data, eof, base64Encoded } = await own.send('IO.read', { handle: stream }); text += base64Encoded ? Buffer.from(data, 'base64').toString() : data; if (eof) break; }
const trace = JSON.parse(text);
for (const e of trace.traceEvents) {
  if (e.ph !== 'v' && e.ph !== 'V') continue;
  const al = e.args?.dumps?.allocators; if (!al) continue;
  const rows = Object.entries(al).map(([k, v]) => [k, parseInt(v.attrs?.effective_size?.value ?? v.attrs?.size?.value ?? '0', 16)]).filter(([k, v]) => v > 4e6).sort((a, b) => b[1] - a[1]);
  console.log('process', e.pid, JSON.stringify(e.args.dumps.process_totals ?? {}).slice(0, 300));
  for (const [k, v] of rows.slice(0, 40)) console.log('   ', (v / 1e6).toFixed(0).padStart(6), k);
}
await browser.close(); await server.stop();
