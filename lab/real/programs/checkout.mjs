// The checkout of the shop: carts are calculated here, delivery dates come from the carriers' service (CARRIERS_URL).
// CONFIRM=status only looks at the status of the carriers' answer, CONFIRM=body reads it to the end.
import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import http from 'node:http';

const { ADDRESS, PORT, CARRIERS_URL, CONFIRM = 'body', SOCKETS = '0', WORK = '300', ACCESS_LOG = '' } = process.env;
const agent = new http.Agent({ keepAlive: true, maxSockets: Number(SOCKETS) || Infinity });
let lines = [];

function calculate(path, rounds) {
  let digest = path;
  for (let round = 0; round < rounds; round++) digest = createHash('sha256').update(digest).digest('hex');
  return digest;
}

function askCarriers(number, done) {
  const request = http.get(`${CARRIERS_URL}/dates/${number}`, { agent, timeout: 8000 }, (answer) => {
    if (CONFIRM === 'status') return done(answer.statusCode);
    answer.resume();
    answer.on('end', () => done(answer.statusCode));
  });
  request.on('error', () => done(502));
}

function finish(request, response, began, status, body) {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ body }));
  const now = Date.now();
  lines.push(`${(now / 1000).toFixed(3)} ${request.method} ${request.url} ${status} ${now - began}\n`);
}

const server = http.createServer((request, response) => {
  const began = Date.now();
  const [, kind, number] = request.url.split('/');
  if (kind === 'delivery') {
    askCarriers(number, (status) => finish(request, response, began, status, calculate(request.url, Number(WORK))));
  } else {
    finish(request, response, began, 200, calculate(request.url, Number(WORK) * 2));
  }
});
server.keepAliveTimeout = 20000;
server.listen(Number(PORT), ADDRESS, 1024);
setInterval(() => {
  if (ACCESS_LOG && lines.length) {
    try {
      appendFileSync(ACCESS_LOG, lines.splice(0).join(''));
    } catch {
      lines = lines.slice(-1000);
    }
  }
}, 500);
