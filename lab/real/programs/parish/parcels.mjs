// Parcels of a surveyor: /parcels/<n> is a map with the boundary of each parcel, /owners/<n> and /fees/<n> are brief.
// Environment: ADDRESS, PORT, MAPS, POINTS (of a map), WORK (what a brief answer costs), ACCESS_LOG.
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { createServer } from 'node:http';

const { ADDRESS, PORT, MAPS, POINTS, WORK, ACCESS_LOG } = process.env;
const log = createWriteStream(ACCESS_LOG, { flags: 'a' });

/** Return numbers in [0, 1), the same for each start. */
function* drawNumbers(seed) {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    yield (state >> 8) / 0x800000;
  }
}

/** Return a map: boundaries are lists of steps, as surveyors walk them. */
function drawMap(number) {
  const draw = drawNumbers(number + 1);
  const step = () => [10 + Math.floor(draw.next().value * 2), Math.floor(draw.next().value * 3)];
  const parcels = [];
  for (let id = 0; id < Number(POINTS) / 40; id += 1) {
    parcels.push({ id, boundary: Array.from({ length: 40 }, step) });
  }
  return Buffer.from(JSON.stringify({ map: number, parcels }));
}

const maps = Array.from({ length: Number(MAPS) }, (_, number) => drawMap(number));

/** Return the digest of a text. */
function signText(text) {
  let value = text;
  for (let round = 0; round < Number(WORK); round += 1) value = createHash('sha256').update(value).digest('hex');
  return value;
}

createServer((request, response) => {
  const began = Date.now();
  const [, page, word] = request.url.split('/');
  const number = Number.parseInt(word, 10) || 0;
  const body = page === 'parcels'
    ? maps[number % maps.length]
    : Buffer.from(JSON.stringify({ page, digest: signText(`${page} ${number}`) }));
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length });
  response.end(body);
  response.on('finish', () => {
    log.write(`${(began / 1000).toFixed(3)} GET ${request.url} 200 ${Date.now() - began}\n`);
  });
}).listen({ host: ADDRESS, port: Number(PORT), backlog: 1024 });
