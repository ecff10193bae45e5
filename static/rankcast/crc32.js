// CRC-32 as in zlib, over ASCII text, and joined from the checksums of parts.
//
// Owns: the checksum that proves a board's rows. Never knows what a row is.
// Neighbours: rows.js keeps one checksum a row and joins them, so that a diff costs the rows below it four
// look-ups each, not their text.

const POLYNOMIAL = 0xedb88320;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let register = byte;
  for (let bit = 0; bit < 8; bit++) register = register & 1 ? (register >>> 1) ^ POLYNOMIAL : register >>> 1;
  return register;
});

/**
 * CRC-32 of ASCII `text`, unsigned; of '' it is 0.
 * @param {string} text
 */
export function crc32(text) {
  let register = -1;
  for (let at = 0; at < text.length; at++)
    register = TABLE[(register ^ text.charCodeAt(at)) & 255] ^ (register >>> 8);
  return ~register >>> 0;
}

/** @type {Map<number, Uint32Array>} what so many more bytes do to each byte of a checksum: 4 x 256 words */
const shifts = new Map();

/** @param {number} length */
function shiftBy(length) {
  const words = new Uint32Array(1024);
  for (let byte = 0; byte < 4; byte++) {
    for (let value = 1; value < 256; value++) {
      const rest = value & (value - 1);
      const lowest = value ^ rest;
      // Shifting is linear: only the single bits are computed, the other values put together of them.
      words[byte * 256 + value] = rest
        ? words[byte * 256 + rest] ^ words[byte * 256 + lowest]
        : zeros(lowest << (8 * byte), length);
    }
  }
  return words;
}

/** @param {number} register @param {number} length */
function zeros(register, length) {
  for (let byte = 0; byte < length; byte++) register = TABLE[register & 255] ^ (register >>> 8);
  return register;
}

/**
 * The checksum of two texts, one after the other, from the checksum of each and the length of the second.
 * @param {number} first @param {number} second @param {number} length
 */
export function joined(first, second, length) {
  let words = shifts.get(length);
  if (!words) shifts.set(length, (words = shiftBy(length)));
  return (
    (words[first & 255] ^
      words[256 + ((first >>> 8) & 255)] ^
      words[512 + ((first >>> 16) & 255)] ^
      words[768 + (first >>> 24)] ^
      second) >>>
    0
  );
}
