// Groups as they stand in the answers: "3 galaxies" is the group with the number 3, which never changes, and its name.

const LONGEST = 60;
/** Groups up to this number have a key. */
export const KEYED = 9;

/** The number and name in a group's id; an id without a number is all name. */
export function readId(id) {
  const [, number, name] = /^(\d{1,4})(?: (.*))?$/s.exec(String(id)) || [];
  return number === undefined ? { number: null, name: String(id) } : { number: Number(number), name: name || "" };
}

export const writeId = (number, name) => (clean(name) ? `${number} ${clean(name)}` : String(number));
export const clean = (name) => name.trim().replace(/\s+/g, " ").slice(0, LONGEST).trim();

/** The groups of answers {text id: group id or null}, by number: [{number, name, members}]. `latest(id)` tells how late
 *  an answer came: the name that was given last counts. */
export function groupsOf(answers, latest = () => 0) {
  const groups = new Map();
  const strange = new Map();
  const highest = Math.max(0, ...Object.values(answers).filter(Boolean).map((id) => readId(id).number || 0));
  for (const [text, id] of Object.entries(answers)) {
    if (id === null || id === undefined) continue;
    let { number, name } = readId(id);
    if (number === null) {
      if (!strange.has(name)) strange.set(name, highest + strange.size + 1);
      number = strange.get(name);
    }
    const group = groups.get(number) || { number, name: "", members: [], at: -1 };
    group.members.push(text);
    if (latest(text) > group.at) Object.assign(group, { name, at: latest(text) });
    groups.set(number, group);
  }
  return [...groups.values()].sort((a, b) => a.number - b.number);
}

/** The lowest number that no group has: keys 1 to 9 are used first, and again when a group is empty. */
export function freeNumber(groups) {
  const taken = new Set(groups.map(({ number }) => number));
  let number = 1;
  while (taken.has(number)) number += 1;
  return number;
}

/** The group of this name, however it is spelled in capitals. */
export const byName = (groups, name) => groups.find((group) => group.name && same(group.name, name));
const same = (a, b) => clean(a).toLocaleLowerCase() === clean(b).toLocaleLowerCase();

/** Groups whose name holds what was typed. */
export const offered = (groups, typed) => {
  const part = clean(typed).toLocaleLowerCase();
  return part ? groups.filter((group) => group.name.toLocaleLowerCase().includes(part)) : [];
};
export const title = (group) => group.name || `group ${group.number}`;
