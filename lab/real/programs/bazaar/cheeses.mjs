// Cheese: /cheeses/<n> shows one with what a store of another host has of it, /regions/<n> describes a region.
// Environment: ADDRESS, PORT, STORE (address:port), WORK, ACCESS_LOG.
import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import http from 'node:http';

const { ADDRESS, PORT, STORE, WORK = '20', ACCESS_LOG } = process.env;
const agent = new http.Agent({ keepAlive: true, maxSockets: 200 });
const lines = [];

function readStore(number) {
  return new Promise((resolve, reject) => {
    http
      .get(`http://${STORE}/store/${number % 400}`, { agent }, (answer) => {
        let text = '';
        answer.on('data', (part) => (text += part));
        answer.on('end', () => resolve(text));
        answer.on('error', reject);
      })
      .on('error', reject);
  });
}

function seal(text) {
  let digest = text;
  for (let round = 0; round < Number(WORK); round++) digest = createHash('sha256').update(digest).digest('hex');
  return digest;
}

http
  .createServer(async (request, response) => {
    const began = Date.now();
    const [, kind, number] = request.url.split('/');
    let status = 200;
    const page = { kind, number };
    try {
      if (kind === 'cheeses') page.pieces = (await readStore(Number(number))).length % 90;
    } catch (error) {
      console.error(`${kind}: ${error.message}`);
      status = 502;
    }
    page.seal = seal(request.url);
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(page));
    const now = Date.now();
    lines.push(`${(now / 1000).toFixed(3)} ${request.method} ${request.url} ${status} ${now - began}\n`);
  })
  .listen(Number(PORT), ADDRESS, 1024);
setInterval(() => {
  if (lines.length) appendFileSync(ACCESS_LOG, lines.splice(0).join(''));
}, 500);
