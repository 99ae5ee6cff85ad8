// What is typed, as the body of a request: a text, or for models without text a row of index:value pairs.

const PAIR = /^(\d{1,10}):([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)$/i;

class QueryError extends Error {}

function parseRow(typed) {
  const cells = new Map();
  for (const part of typed.split(/\s+/)) {
    const match = PAIR.exec(part);
    if (!match) throw new QueryError(`“${part}” is not an index:value pair. Write pairs such as 3:1 17:2.5, with spaces between them.`);
    const index = Number(match[1]);
    if (cells.has(index)) throw new QueryError(`Index ${index} is there twice. Give each index one value.`);
    cells.set(index, Number(match[2]));
  }
  const indices = [...cells.keys()].sort((a, b) => a - b);
  return { indices, values: indices.map((index) => cells.get(index)) };
}

/** The part of a body of /v1/predict that holds the query. */
const forPredict = (typed, text) => (text ? { texts: [typed] } : { rows: [parseRow(typed)] });

/** The part of a body of /v1/explain that holds the query. */
const forExplain = (typed, text) => (text ? { text: typed } : { row: parseRow(typed) });

export { QueryError, forExplain, forPredict };
