// Numbers as people read them.

const grouped = new Intl.NumberFormat("en");
const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

const count = (n) => grouped.format(n);

/** "1 label", "20,000 labels". */
const counted = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** A probability: three digits at most, never "0%" for what is more than nothing. */
function percent(p) {
  const hundredfold = p * 100;
  if (hundredfold > 0 && hundredfold < 0.01) return "<0.01%";
  return `${hundredfold.toFixed(hundredfold >= 99.95 || hundredfold === 0 ? 0 : hundredfold >= 10 ? 1 : 2)}%`;
}

function bytes(n) {
  let unit = 0;
  while (n >= 999.5 && unit < UNITS.length - 1) {
    n /= 1000;
    unit += 1;
  }
  return `${unit === 0 || n >= 99.5 ? Math.round(n) : n.toPrecision(2)} ${UNITS[unit]}`;
}

const milliseconds = (ms) => (ms < 9.5 ? `${ms.toFixed(1)} ms` : ms < 999.5 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

/** A metric: shares of one as percent, anything else as it is. */
const metric = (value) => (value >= 0 && value <= 1 ? percent(value) : Number(value.toPrecision(4)).toString());

export { bytes, count, counted, metric, milliseconds, percent };
