// As much of @msgpack/msgpack as the README uses: maps, lists, texts, integers below 2^32 and bytes.

export function encode(value) {
  const bytes = [];
  const head = (tag, size) => bytes.push(tag, size >>> 24, (size >>> 16) & 255, (size >>> 8) & 255, size & 255);
  const write = (item) => {
    if (typeof item === "number") return head(0xce, item);
    if (typeof item === "string") return head(0xdb, item.length), bytes.push(...new TextEncoder().encode(item));
    if (item instanceof Uint8Array) return head(0xc6, item.length), bytes.push(...item);
    if (Array.isArray(item)) return head(0xdd, item.length), item.forEach(write);
    return head(0xdf, Object.keys(item).length), Object.entries(item).flat().forEach(write);
  };
  write(value);
  return new Uint8Array(bytes);
}

export function decode(buffer) {
  const view = new DataView(buffer);
  let at = 0;
  const number = (size) => ((at += size), view[`getUint${8 * size}`](at - size));
  const taken = (size) => ((at += size), new Uint8Array(buffer, at - size, size));
  const text = (size) => new TextDecoder().decode(taken(size));
  const list = (size) => Array.from({ length: size }, read);
  const map = (size) => Object.fromEntries(Array.from({ length: size }, () => [read(), read()]));
  const long = { 0xc4: [taken, 1], 0xc5: [taken, 2], 0xc6: [taken, 4], 0xd9: [text, 1], 0xda: [text, 2], 0xdc: [list, 2] };
  function read() {
    const tag = number(1);
    if (tag < 0x80) return tag;
    if (tag < 0x90) return map(tag & 15);
    if (tag < 0xa0) return list(tag & 15);
    if (tag < 0xc0) return text(tag & 31);
    if (tag >= 0xcc && tag <= 0xce) return number(1 << (tag - 0xcc));
    const [take, size] = long[tag];
    return take(number(size));
  }
  return read();
}
