// Podcasts: /episodes/<n> sends a recording from a file, /shows/<n> a page about a show, /charts/<n> a list.
// Environment: ADDRESS, PORT, DIRECTORY (files <n>.mp3 and <n>.json), EPISODES, SHOWS, RELEASE, WORK, ACCESS_LOG.
import { createHash } from 'node:crypto';
import { appendFileSync, createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import http from 'node:http';
import { pipeline } from 'node:stream';

const { ADDRESS, PORT, DIRECTORY, EPISODES, SHOWS, RELEASE, WORK = '20', ACCESS_LOG } = process.env;
const lines = [];

function sign(text) {
  let digest = text;
  for (let round = 0; round < Number(WORK); round++) digest = createHash('sha256').update(digest).digest('hex');
  return digest;
}

// Since release 41, players may start at a position.
async function sendEpisode(request, response, number) {
  const file = `${DIRECTORY}/${number % Number(EPISODES)}.mp3`;
  const { size } = await stat(file);
  if (Number(RELEASE) < 41) {
    response.writeHead(200, { 'Content-Type': 'audio/mpeg', 'Content-Length': size });
    return pipeline(createReadStream(file), response, () => {});
  }
  const start = Math.min(Number(/bytes=(\d+)/.exec(request.headers.range ?? '')?.[1] ?? 0), size - 1);
  const source = createReadStream(file, { start });
  source.on('open', () => {
    const status = start ? 206 : 200;
    response.writeHead(status, { 'Content-Type': 'audio/mpeg', 'Content-Length': size - start });
    source.pipe(response);
  });
  source.on('error', (error) => fail(response, error));
}

function fail(response, error) {
  console.error(error.message);
  if (!response.headersSent) response.writeHead(500);
  response.end();
}

async function sendPage(response, kind, number) {
  const page = { kind, number };
  if (kind === 'shows') {
    page.show = JSON.parse(await readFile(`${DIRECTORY}/${number % Number(SHOWS)}.json`, 'utf8'));
  }
  page.signature = sign(`${kind} ${number}`);
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(page));
}

http
  .createServer(async (request, response) => {
    const began = Date.now();
    const [, kind, number] = request.url.split('/');
    response.on('close', () => {
      const now = Date.now();
      const head = `${(now / 1000).toFixed(3)} ${request.method} ${request.url}`;
      lines.push(`${head} ${response.statusCode} ${now - began}\n`);
    });
    try {
      if (kind === 'episodes') await sendEpisode(request, response, Number(number));
      else await sendPage(response, kind, Number(number));
    } catch (error) {
      fail(response, error);
    }
  })
  .listen(Number(PORT), ADDRESS, 1024);
setInterval(() => {
  try {
    if (lines.length) appendFileSync(ACCESS_LOG, lines.join(''));
    lines.length = 0;
  } catch (error) {
    console.error(error.message);
  }
}, 500);
