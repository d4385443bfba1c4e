// Tours of a ferry company: a tour shows its fares, which a Redis remembers and another service (FARES) works out.
// Environment: ADDRESS, PORT, STORE (address:port), FARES (URL), SAILINGS (how many), WORK, KEPT_S, ACCESS_LOG.
import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';

const { ADDRESS, PORT, STORE, FARES, SAILINGS, WORK, KEPT_S, ACCESS_LOG } = process.env;
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
const lines = [];

// One connection to Redis; answers arrive in the order of the commands.
class Store {
  constructor(address) {
    const [host, port] = address.split(':');
    this.waiting = [];
    this.data = Buffer.alloc(0);
    this.socket = net.connect(Number(port), host);
    this.socket.setNoDelay(true);
    this.socket.on('data', (chunk) => this.receive(chunk));
  }

  send(...words) {
    const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    this.socket.write(`*${words.length}\r\n${parts.join('')}`);
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  receive(chunk) {
    this.data = this.data.length ? Buffer.concat([this.data, chunk]) : chunk;
    for (;;) {
      const end = this.data.indexOf('\r\n');
      if (end < 0) return;
      const head = this.data.toString('latin1', 0, end);
      const size = head[0] === '$' ? Number(head.slice(1)) : -1;
      const next = size < 0 ? end + 2 : end + 2 + size + 2;
      if (this.data.length < next) return;
      const value = head[0] === '$' ? (size < 0 ? null : this.data.toString('latin1', end + 2, end + 2 + size)) : head;
      this.data = this.data.subarray(next);
      this.waiting.shift()(value);
    }
  }
}

const store = new Store(STORE);

function fetchFares(sailing) {
  return new Promise((resolve, reject) => {
    const request = http.get(`${FARES}/fares/${sailing}`, { agent, timeout: 8000 }, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () =>
        answer.statusCode === 200 ? resolve(Buffer.concat(parts).toString('latin1')) : reject(new Error('no fares')),
      );
    });
    request.on('timeout', () => request.destroy(new Error('late')));
    request.on('error', reject);
  });
}

async function findFares(sailing) {
  const key = `fares:${sailing}`;
  const known = await store.send('GET', key);
  if (known !== null) return known;
  const fares = await fetchFares(sailing);
  await store.send('SET', key, fares, 'EX', KEPT_S);
  return fares;
}

http
  .createServer(async (request, response) => {
    const began = Date.now();
    const [, kind, number] = request.url.split('/');
    let status = 200;
    let text = request.url;
    try {
      if (kind === 'tours') text = await findFares(Number(number) % Number(SAILINGS));
    } catch {
      status = 502;
    }
    let digest = text;
    for (let round = 0; round < Number(WORK); round++) digest = createHash('sha256').update(digest).digest('hex');
    response.writeHead(status, { 'Content-Type': 'text/plain' });
    response.end(`${kind} ${number} ${text.length} ${digest}\n`);
    const now = Date.now();
    lines.push(`${(now / 1000).toFixed(3)} ${request.method} ${request.url} ${status} ${now - began}\n`);
  })
  .listen(Number(PORT), ADDRESS, 1024);
setInterval(() => {
  if (lines.length) appendFileSync(ACCESS_LOG, lines.splice(0).join(''));
}, 500);
