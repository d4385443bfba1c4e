// Seats of a cinema: /seats/<n> holds a seat in Redis, /films/<n> and /halls/<n> only read.
// Environment: ADDRESS, PORT, REDIS (address:port), SEATS, RELEASE, WORK, ACCESS_LOG.
import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';

const { ADDRESS, PORT, REDIS, SEATS, RELEASE, WORK = '20', ACCESS_LOG } = process.env;
const [STORE, STORE_PORT] = REDIS.split(':');
const lines = [];

// A connection to Redis; answers arrive in the order of the commands.
class Store {
  constructor() {
    this.waiting = [];
    this.text = '';
    this.socket = net.connect(Number(STORE_PORT), STORE);
    this.socket.setNoDelay(true);
    this.socket.on('data', (part) => this.read(part));
    this.socket.on('error', () => this.fail());
    this.socket.on('close', () => this.fail());
  }

  send(command) {
    return new Promise((resolve, reject) => {
      if (this.closed) return reject(new Error('closed'));
      this.waiting.push({ resolve, reject });
      this.socket.write(`${command}\r\n`);
    });
  }

  // Answers to the commands in use have a single line, or that of their length and one of text.
  read(part) {
    this.text += part;
    while (this.text.includes('\r\n')) {
      const end = this.text.indexOf('\r\n');
      const line = this.text.slice(0, end);
      let size = end + 2;
      let value = line.slice(1);
      if (line[0] === '$' && line !== '$-1') {
        if (this.text.length < size + Number(value) + 2) return;
        const length = Number(value);
        value = this.text.slice(size, size + length);
        size += length + 2;
      }
      this.text = this.text.slice(size);
      const { resolve, reject } = this.waiting.shift() ?? {};
      if (line[0] === '-') reject?.(new Error(value));
      else resolve?.(line === '$-1' ? null : value);
    }
  }

  fail() {
    this.closed = true;
    for (const { reject } of this.waiting.splice(0)) reject(new Error('closed'));
  }

  close() {
    this.socket.end();
  }
}

let shared = new Store();
function shareStore() {
  if (shared.closed) shared = new Store();
  return shared;
}

// Since release 8, a guest who comes too late for a seat is offered the next row at once.
async function holdSeat(number) {
  const store = new Store();
  const seat = `seat:${number % Number(SEATS)}`;
  const free = (await store.send(`SET ${seat} guest-${number} NX EX 900`)) !== null;
  if (!free && Number(RELEASE) >= 8) return offerRow(await store.send(`GET ${seat}`), number);
  const holder = await store.send(`GET ${seat}`);
  store.close();
  return { seat, free, holder };
}

function offerRow(holder, number) {
  return { holder, row: (number % 30) + 1 };
}

function calculate(path) {
  let digest = path;
  for (let round = 0; round < Number(WORK); round++) digest = createHash('sha256').update(digest).digest('hex');
  return digest;
}

async function answer(kind, number) {
  if (kind === 'seats') return holdSeat(number);
  if (kind === 'films') return { film: await shareStore().send(`GET film:${number % 200}`) };
  return { hall: number % 9 };
}

http
  .createServer(async (request, response) => {
    const began = Date.now();
    const [, kind, number] = request.url.split('/');
    let status = 200;
    let body = {};
    try {
      body = await answer(kind, Number(number));
    } catch (error) {
      console.error(`${kind}: ${error.message}`);
      status = 503;
    }
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ ...body, signature: calculate(request.url) }));
    const now = Date.now();
    lines.push(`${(now / 1000).toFixed(3)} ${request.method} ${request.url} ${status} ${now - began}\n`);
  })
  .listen(Number(PORT), ADDRESS, 1024);
setInterval(() => {
  if (lines.length) appendFileSync(ACCESS_LOG, lines.splice(0).join(''));
}, 500);
