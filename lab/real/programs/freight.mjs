// The freight service: quotes ask the tariffs of another service (TARIFFS, by name), parcels are calculated here.
import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import http from 'node:http';

const { ADDRESS, PORT, TARIFFS, WORK = '200', ACCESS_LOG } = process.env;
const lines = [];

function calculate(path, rounds) {
  let digest = path;
  for (let round = 0; round < rounds; round++) digest = createHash('sha256').update(digest).digest('hex');
  return digest;
}

function fetchTariff(number, done) {
  const request = http.get(`${TARIFFS}/tariffs/${number}`, { agent: false }, (answer) => {
    let size = 0;
    answer.on('data', (chunk) => (size += chunk.length));
    answer.on('end', () => done(answer.statusCode, size));
  });
  request.on('error', () => done(502, 0));
}

function finish(request, response, began, status, body) {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ body }));
  const now = Date.now();
  lines.push(`${(now / 1000).toFixed(3)} ${request.method} ${request.url} ${status} ${now - began}\n`);
}

http
  .createServer((request, response) => {
    const began = Date.now();
    const [, kind, number] = request.url.split('/');
    if (kind !== 'quotes') return finish(request, response, began, 200, calculate(request.url, Number(WORK) * 2));
    fetchTariff(number, (status, size) =>
      finish(request, response, began, status, calculate(`${request.url} ${size}`, Number(WORK))),
    );
  })
  .listen(Number(PORT), ADDRESS, 1024);
setInterval(() => {
  if (lines.length) appendFileSync(ACCESS_LOG, lines.splice(0).join(''));
}, 500);
