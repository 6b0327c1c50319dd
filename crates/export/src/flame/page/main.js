
// Starts the page.

async function main() {
  const packed = /** @type {HTMLElement} */ (document.getElementById('profile'));
  const profile = decode(await unpack(packed.textContent ?? ''));
  packed.remove();
  const app = new App(profile);
  showFacts(profile);
  showNotes(profile);
  connect(app);
  app.rebuild();
  byId('canvas').focus({ preventScroll: true });
  // For tests: ms since the page was asked for.
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

main().catch((error) => {
  const message = byId('message');
  message.hidden = false;
  message.textContent = `The flame graph can't be shown: ${error instanceof Error ? error.message : error}.`;
});
