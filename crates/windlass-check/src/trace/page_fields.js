/** Where there is no value; `null` is one. */
const ABSENT = Symbol('absent');

// ---- What differs, field by field ----

/** @returns {{change: string, touched: boolean, before: any, after: any, children?: object[], list?: boolean}} */
function compare(before, after) {
  if (isMap(before) && isMap(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    const part = (value, key) => (Object.hasOwn(value, key) ? value[key] : ABSENT);
    return inner(keys.map((key) => ({ key, node: compare(part(before, key), part(after, key)) })), after, false);
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    return inner(align(before, after).map(([one, other]) => ({ node: compare(one, other) })), after, true);
  }
  if (before === ABSENT || after === ABSENT) {
    return whole(before === ABSENT ? after : before, before === ABSENT ? 'added' : 'removed');
  }
  const same = JSON.stringify(before) === JSON.stringify(after);
  return { change: same ? 'same' : 'changed', touched: !same, before, after };
}

function inner(children, after, list) {
  const touched = children.some(({ node }) => node.touched);
  return { change: touched ? 'changed' : 'same', touched, children, after, list };
}

/** A value that is there as a whole, or gone as a whole. */
function whole(value, change) {
  const children = Array.isArray(value) ? value.map((item) => ({ node: whole(item, change) }))
    : isMap(value) ? Object.keys(value).sort().map((key) => ({ key, node: whole(value[key], change) }))
    : undefined;
  return { change, touched: true, before: value, after: value, children, list: Array.isArray(value) };
}

/** Pairs the items of two lists, in order, by what names them; what has no partner stands alone. */
function align(before, after) {
  const [left, right] = [before.map(identity), after.map(identity)];
  const longest = left.map(() => new Array(right.length + 1).fill(0));
  longest.push(new Array(right.length + 1).fill(0));
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      longest[i][j] = left[i] === right[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const pairs = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      pairs.push([before[i++], after[j++]]);
    } else if (i < left.length && (j === right.length || longest[i + 1][j] >= longest[i][j + 1])) {
      pairs.push([before[i++], ABSENT]);
    } else {
      pairs.push([ABSENT, after[j++]]);
    }
  }
  return pairs;
}

/** Conditions go by type, containers and the like by name, references by uid. */
function identity(item) {
  return (isMap(item) ? hint(item) : undefined) ?? JSON.stringify(item);
}

function hint(item) {
  return [item.type, item.name, item.uid].find((value) => typeof value === 'string');
}

function isMap(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// ---- Fields as YAML, or nearly so ----

function fieldElements(node, depth = 0) {
  return (node.children ?? [{ node }]).map((child) => field(child, node.list, depth));
}

function field({ key, node }, inList, depth) {
  const label = inList ? ['- '] : key === undefined ? [] : [make('span', { class: 'key' }, key), ': '];
  if (node.children === undefined || node.children.length === 0) {
    return make('div', { class: `field ${node.change}`, '--depth': depth }, ...label, ...scalar(node));
  }
  // What holds a change is not changed as a whole: only the fields in it are marked.
  const mark = node.change === 'added' || node.change === 'removed' ? node.change : 'same';
  const name = inList && isMap(node.after) ? hint(node.after) : undefined;
  const summary = make('summary', { class: `field ${mark}`, '--depth': depth }, ...label,
    name === undefined ? undefined : make('span', { class: 'hint' }, name),
    make('span', { class: 'more' }, ` … ${node.children.length}`));
  const element = make('details', {}, summary, ...fieldElements(node, depth + 1));
  element.open = key !== 'managedFields' && (node.touched || lines(node) <= 16);
  return element;
}

function lines(node) {
  return 1 + (node.children ?? []).reduce((sum, child) => sum + lines(child.node), 0);
}

function scalar(node) {
  if (node.children !== undefined) {
    return [node.list ? '[]' : '{}'];
  }
  if (node.change === 'changed') {
    return [make('del', {}, shown(node.before)), ' ', make('ins', {}, shown(node.after))];
  }
  if (typeof node.after === 'string' && node.after.includes('\n')) {
    return ['|', make('pre', {}, node.after)];
  }
  return [shown(node.after)];
}

/** Strings go without quotes where YAML, too, would take them for strings. */
function shown(value) {
  if (typeof value !== 'string') {
    return JSON.stringify(value);
  }
  const harmless = /^[A-Za-z0-9/][^\n"'{}[\],&*#?|<>=!%@`]*$/.test(value) && !/: |:$| $/.test(value);
  const otherType = /^(true|false|null|yes|no|on|off|[\d.:_e+-]+|0[xo].*|\d{4}-\d\d-\d\d.*)$/i.test(value);
  return harmless && !otherType ? value : JSON.stringify(value);
}
