// Calls of a locksmith: /calls/<n> plans a visit with what the depot has, /keys/<n> describes a key.
// Environment: ADDRESS, PORT, DEPOT_PORT, DEPOT_NAME, AUTHORITY (a file), WORK.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import tls from 'node:tls';

const { ADDRESS, PORT, DEPOT_PORT, DEPOT_NAME, AUTHORITY, WORK = '20' } = process.env;
const secureContext = tls.createSecureContext({ ca: readFileSync(AUTHORITY) });

function readDepot(number) {
  const options = { host: ADDRESS, port: Number(DEPOT_PORT), servername: DEPOT_NAME, secureContext, agent: false };
  return new Promise((resolve, reject) => {
    https
      .get({ ...options, path: `/depot/${number % 500}`, headers: { Host: DEPOT_NAME } }, (answer) => {
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
    const [, kind, number] = request.url.split('/');
    const page = { kind, number, seal: seal(request.url) };
    let status = 200;
    if (kind === 'calls') {
      try {
        page.parts = (await readDepot(Number(number))).length % 90;
      } catch {
        page.notice = 'no parts';
        status = 502;
      }
    }
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(page));
  })
  .listen(Number(PORT), ADDRESS, 1024);
