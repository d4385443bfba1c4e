// Answers requests without end: text is parsed, sorted and summed up.
function buildRequest(number) {
  return JSON.stringify(Array.from({ length: 200 }, (_, place) => ({ id: number * 31 + place })));
}

function parseFields(text) {
  return JSON.parse(text).map((row) => row.id ^ 77);
}

function sumSorted(values) {
  values.sort((left, right) => left - right);
  return values.reduce((sum, value) => (sum * 7 + value) % 1000003, 0);
}

let answers = 0;
for (let number = 0; ; number++) answers += sumSorted(parseFields(buildRequest(number)));
