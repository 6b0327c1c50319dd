// Chromium without a window, and a server of files for its pages.

const fs = require('fs');
const http = require('http');
const path = require('path');

const TYPES = {
  '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json',
  '.wasm': 'application/wasm', '.woff2': 'font/woff2', '.png': 'image/png', '.svg': 'image/svg+xml',
};

/** Serves files on the loopback interface. `find` returns the file of a path, or undefined. */
function serve(find) {
  const server = http.createServer((request, response) => {
    const file = find(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
    if (!file || !fs.existsSync(file) || fs.statSync(file).isDirectory()) {
      response.statusCode = 404;
      response.end();
      return;
    }
    response.setHeader('content-type', TYPES[path.extname(file)] || 'application/octet-stream');
    fs.createReadStream(file).pipe(response);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

/** Starts the browser. MODULES is a node_modules folder with playwright-core. */
function launch(modules, program) {
  const {chromium} = require(path.resolve(modules, 'playwright-core'));
  return chromium.launch({executablePath: program, args: ['--no-sandbox', '--enable-unsafe-swiftshader']});
}

/** Ends the program, with an error's message. */
function fail(error) {
  console.error(String(error).slice(0, 2000));
  process.exit(1);
}

module.exports = {fail, launch, serve};
