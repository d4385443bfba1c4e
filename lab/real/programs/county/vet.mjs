// Appointments of a vet: /appointments/<n> books in Redis and leaves a letter for the post, /animals/<n> only reads,
// /hours/<n> needs no store.
// Environment: ADDRESS, PORT, STORE (port of Redis), ANIMALS, LETTER_BYTES, QUEUE, WORK.
import { createHash } from 'node:crypto';
import http from 'node:http';
import net from 'node:net';

const { ADDRESS, PORT, STORE, ANIMALS, LETTER_BYTES, QUEUE, WORK = '20' } = process.env;

// A connection to Redis. Its answers have the order of the commands.
class Connection {
  constructor(port) {
    this.pending = [];
    this.rest = Buffer.alloc(0);
    this.socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    this.socket.on('data', (part) => this.receive(part));
    this.socket.on('error', () => process.exit(1));
  }

  run(...words) {
    const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    this.socket.write(`*${words.length}\r\n${parts.join('')}`);
    return new Promise((resolve, reject) => this.pending.push({ resolve, reject }));
  }

  receive(part) {
    this.rest = Buffer.concat([this.rest, part]);
    for (let end = this.rest.indexOf('\r\n'); end >= 0; end = this.rest.indexOf('\r\n')) {
      const line = this.rest.toString('latin1', 0, end);
      let next = end + 2;
      let value = line.slice(1);
      if (line[0] === '$' && value !== '-1') {
        next += Number(value) + 2;
        if (this.rest.length < next) return;
        value = this.rest.toString('utf8', end + 2, next - 2);
      }
      this.rest = this.rest.subarray(next);
      const { resolve, reject } = this.pending.shift();
      if (line[0] === '-') reject(new Error(value));
      else resolve(value);
    }
  }
}

const store = new Connection(Number(STORE));

function seal(text) {
  let digest = text;
  for (let round = 0; round < Number(WORK); round++) digest = createHash('sha256').update(digest).digest('hex');
  return digest;
}

async function answer(kind, number) {
  const page = { kind, number, seal: seal(`${kind} ${number}`) };
  const key = `animal:${number % Number(ANIMALS)}`;
  if (kind === 'appointments') {
    const letter = page.seal.repeat(Math.ceil(Number(LETTER_BYTES) / page.seal.length));
    await Promise.all([
      store.run('SET', key, JSON.stringify({ number, day: number % 90, notes: letter.slice(0, 900) })),
      store.run('RPUSH', QUEUE, letter),
    ]);
  } else if (kind === 'animals') {
    page.known = (await store.run('GET', key)).length;
  }
  return page;
}

http
  .createServer(async (request, response) => {
    const [, kind, number] = request.url.split('/');
    let status = 200;
    let page = {};
    try {
      page = await answer(kind, Number(number));
    } catch {
      status = 503;
    }
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(page));
  })
  .listen(Number(PORT), ADDRESS, 1024);
