// Courses of a campus: /courses/<n> and /terms/<n> are in memory, /people/<n> and /status ask the directory.
// Environment: ADDRESS, PORT, DIRECTORY_HOST, DIRECTORY_PORT, COURSES (how many), ROUNDS (what an answer costs), ACCESS_LOG.
import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import http from 'node:http';

const { ADDRESS, PORT, DIRECTORY_HOST, DIRECTORY_PORT, COURSES, ROUNDS, ACCESS_LOG } = process.env;
const agent = new http.Agent({ keepAlive: true, maxSockets: 128 });
const courses = Array.from({ length: Number(COURSES) }, (_, id) => ({ id, title: `Course ${id}`, points: 3 + (id % 9) }));
const lines = [];

function askDirectory(path) {
  return new Promise((resolve, reject) => {
    const options = { host: DIRECTORY_HOST, port: Number(DIRECTORY_PORT), path, agent, timeout: 8000 };
    const request = http.get(options, (answer) => {
      let text = '';
      answer.on('data', (part) => (text += part));
      answer.on('end', () => resolve(text));
    });
    request.on('timeout', () => request.destroy(new Error('the directory does not answer')));
    request.on('error', reject);
  });
}

async function answerRequest(kind, number) {
  if (kind === 'people') return { person: number, entry: await askDirectory(`/people/${number}`) };
  if (kind === 'status') return { courses: courses.length, directory: (await askDirectory('/people/0')).length > 0 };
  let seal = `${kind} ${number}`;
  for (let round = 0; round < Number(ROUNDS); round++) seal = createHash('sha256').update(seal).digest('hex');
  return { ...courses[number % courses.length], seal };
}

http
  .createServer(async (request, response) => {
    const began = Date.now();
    const [, kind, number] = request.url.split('/');
    let status = 200;
    let text = '';
    try {
      text = `${JSON.stringify(await answerRequest(kind, Number(number ?? 0)))}\n`;
    } catch {
      status = 502;
    }
    response.writeHead(status, { 'Content-Length': Buffer.byteLength(text) });
    response.end(text);
    const now = Date.now();
    lines.push(`${(now / 1000).toFixed(3)} ${request.method} ${request.url} ${status} ${now - began}\n`);
  })
  .listen(Number(PORT), ADDRESS, 1024);
setInterval(() => {
  if (lines.length) appendFileSync(ACCESS_LOG, lines.splice(0).join(''));
}, 500);
