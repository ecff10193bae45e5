/** The few words an overlay says, by language, and its numbers. Another language gets English words, its own digits. */

// prettier-ignore
const WORDS = {
  en: { climbs: "climbs to", enters: "enters at", waiting: "Waiting for the first result", unknown: "There is no board" },
  de: { climbs: "steigt auf", enters: "steigt ein auf", waiting: "Noch kein Ergebnis", unknown: "Es gibt kein Board" },
  fr: { climbs: "monte à la place", enters: "entre à la place", waiting: "En attente du premier résultat", unknown: "Aucun tableau" },
  es: { climbs: "sube al puesto", enters: "entra en el puesto", waiting: "Esperando el primer resultado", unknown: "No existe el tablero" },
  pt: { climbs: "sobe para", enters: "entra em", waiting: "À espera do primeiro resultado", unknown: "Não existe o quadro" },
  it: { climbs: "sale al posto", enters: "entra al posto", waiting: "In attesa del primo risultato", unknown: "Non esiste la classifica" },
  pl: { climbs: "awansuje na", enters: "wchodzi na", waiting: "Czekamy na pierwszy wynik", unknown: "Nie ma tablicy" },
  tr: { climbs: "yükseldi:", enters: "listeye girdi:", waiting: "İlk sonuç bekleniyor", unknown: "Böyle bir tablo yok:" },
  ja: { climbs: "ランクアップ", enters: "ランクイン", waiting: "最初の結果を待っています", unknown: "ボードがありません:" },
  ko: { climbs: "순위 상승", enters: "순위 진입", waiting: "첫 결과를 기다리는 중", unknown: "보드가 없습니다:" },
  zh: { climbs: "上升至", enters: "进入", waiting: "等待首个结果", unknown: "没有此榜单:" },
  ar: { climbs: "يصعد إلى", enters: "يدخل في", waiting: "في انتظار أول نتيجة", unknown: "لا توجد لوحة" },
};
const RIGHT_TO_LEFT = new Set(["ar", "fa", "he", "ur"]);

export const LANGUAGES = Object.keys(WORDS);

/** @param {string} lang a canonical locale, such as `de` or `pt-BR` */
export function speak(lang) {
  const base = lang.split("-")[0];
  const numbers = new Intl.NumberFormat(lang);
  return {
    words: WORDS[base] ?? WORDS.en,
    direction: RIGHT_TO_LEFT.has(base) ? "rtl" : "ltr",
    number: (value) => numbers.format(value),
  };
}
