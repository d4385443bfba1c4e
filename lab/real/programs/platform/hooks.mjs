// Hooks of tools: /calls/<n> calls another service by its name, /profiles/<n> reads a file, /scopes/<n> is in memory.
// Environment: ADDRESS, PORT, ZONE, SERVICES (how many), SERVICE_PORT, PROFILES (directory), COUNT, ACCESS_LOG.
import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const { ADDRESS, PORT, ZONE, SERVICES, SERVICE_PORT, PROFILES, COUNT, ACCESS_LOG } = process.env;
const agent = new http.Agent({ keepAlive: false });
const pack = promisify(gzip);
const lines = [];

function callService(number) {
  const host = `tool${number % Number(SERVICES)}.${ZONE}`;
  return new Promise((resolve, reject) => {
    const request = http.get({ host, port: Number(SERVICE_PORT), path: `/hooks/${number}`, agent }, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () => resolve(Buffer.concat(parts)));
    });
    request.on('error', reject);
  });
}

async function answerRequest(kind, number) {
  if (kind === 'calls') return callService(Number(number));
  if (kind === 'profiles') return pack(await readFile(`${PROFILES}/${Number(number) % Number(COUNT)}.json`));
  let digest = number;
  for (let round = 0; round < 60; round++) digest = createHash('sha256').update(digest).digest('hex');
  return Buffer.from(`${digest}\n`);
}

http
  .createServer(async (request, response) => {
    const began = Date.now();
    const [, kind, number] = request.url.split('/');
    let status = 200;
    let body = Buffer.alloc(0);
    try {
      body = await answerRequest(kind, number);
    } catch {
      status = 502;
    }
    response.writeHead(status, { 'Content-Length': body.length });
    response.end(body);
    const now = Date.now();
    lines.push(`${(now / 1000).toFixed(3)} ${request.method} ${request.url} ${status} ${now - began}\n`);
  })
  .listen(Number(PORT), ADDRESS, 1024);
setInterval(() => {
  if (lines.length) appendFileSync(ACCESS_LOG, lines.splice(0).join(''));
}, 500);
