// A mistake must not look like an empty trace.
window.addEventListener('error', (event) => {
  document.documentElement.dataset.error = event.message;
  document.body.prepend(make('p', { class: 'failure' }, `This page has failed: ${event.message}`));
});

/** What stands before the name of a service among the objects. */
const SERVICE = 'service ';
const trace = JSON.parse(document.getElementById('data').textContent);
const steps = [...trace.steps, ...trace.repeats];
const actors = inOrderOfAppearance(steps.flatMap((step) => [step.actor, step.receiver]));
const states = statesAfterEachStep();
/** Objects that somebody opened or closed by hand. */
const opened = new Map();
let current = 0;

showVerdict();
showLanes();
showSteps();
listen();
goTo(stepOfAddress());

// ---- What there is to show ----

function inOrderOfAppearance(names) {
  return [...new Set(names.filter((name) => name !== undefined))];
}

/** What a step did to objects and to services. */
function changesOf(step) {
  const services = (step.services ?? []).map(({ service, ...change }) => ({ object: SERVICE + service, ...change }));
  return [...(step.changes ?? []), ...services];
}

/** For every step, and the start as step 0: all objects and services by name. */
function statesAfterEachStep() {
  const services = Object.entries(trace.services ?? {}).map(([name, state]) => [SERVICE + name, state]);
  const states = [new Map([...trace.initial.map(({ object, value }) => [object, value]), ...services])];
  for (const step of steps) {
    const state = new Map(states.at(-1));
    for (const { object, after } of changesOf(step)) {
      if (after === undefined) {
        state.delete(object);
      } else {
        state.set(object, after);
      }
    }
    states.push(state);
  }
  return states;
}

function stepOfAddress() {
  const asked = /^#step=(\d+)$/.exec(location.hash);
  return asked ? Math.min(Number(asked[1]), steps.length) : 0;
}

// ---- Elements ----

/** Contents are always added as text: nothing that a trace contains becomes markup. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('--')) {
      element.style.setProperty(name, value);
    } else if (value !== undefined && value !== false) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

function byId(id) {
  return document.getElementById(id);
}

function colour(actor) {
  return `var(--lane-${actors.indexOf(actor) % 8})`;
}

/** An arrow of one character is not broken at the end of a line. */
function said(step) {
  return step.text.replaceAll(' -> ', ' → ');
}

function badge(step) {
  return step.fault === undefined ? undefined : make('span', { class: 'badge' }, `⚠ ${step.fault}`);
}

// ---- The verdict ----

function showVerdict() {
  byId('check').textContent = trace.check;
  byId('kind').textContent = 'Violated';
  byId('message').textContent = trace.violation.message;
  byId('bounds').textContent = `${trace.bounds} · Windlass ${trace.windlass}`;
}

// ---- The timeline ----

function showLanes() {
  byId('timeline').style.setProperty('--count', actors.length);
  const names = actors.map((actor, index) =>
    make('span', { '--index': index, '--colour': colour(actor), title: actor }, actor));
  byId('lanes').append(...names);
}

function showSteps() {
  const list = byId('steps');
  list.append(make('li', {}, row(0, undefined)));
  trace.steps.forEach((step, index) => list.append(make('li', {}, row(index + 1, step))));
  const first = trace.steps.length + 1;
  if (trace.repeats.length > 0) {
    const rows = trace.repeats.map((step, index) => make('li', {}, row(first + index, step)));
    const back = make('div', { class: 'mark' }, make('a', { href: `#step=${first}` }, `↻ and again from step ${first}`));
    const title = make('div', { class: 'mark' }, '↻ From here on, this repeats for ever');
    list.append(make('li', { class: 'loop' }, title, make('ol', { start: first }, ...rows), back));
  } else if (trace.violation.kind === 'eventually') {
    list.append(make('li', {}, make('div', { class: 'mark' }, 'Nothing more happens')));
  }
  list.append(make('li', {}, make('div', { class: 'finding' }, `✗ ${trace.violation.message}`)));
}

function row(number, step) {
  const fault = step?.fault === undefined ? '' : ' fault';
  return make('a', { class: `step${fault}`, href: `#step=${number}`, 'data-step': number },
    make('span', { class: 'number' }, String(number)), graph(step), step ? words(step) : start());
}

function start() {
  const count = trace.initial.length;
  const there = count === 0 ? 'No objects are there yet' : `${count} ${count === 1 ? 'object is' : 'objects are'} there`;
  return make('div', { class: 'what' }, make('span', { class: 'actor' }, 'Start'), `  ${there}`);
}

function graph(step) {
  const lanes = actors.map((_, index) => make('i', { '--index': index }));
  if (step === undefined) {
    return make('span', { class: 'graph', 'aria-hidden': 'true' }, ...lanes);
  }
  const [from, to] = [actors.indexOf(step.actor), actors.indexOf(step.receiver ?? step.actor)];
  const attributes = { '--colour': colour(step.actor), '--low': Math.min(from, to), '--high': Math.max(from, to) };
  const way = from === to ? undefined : make('span', { class: `way ${from < to ? 'right' : 'left'}`, ...attributes });
  const dot = make('span', { class: 'dot', '--index': from, ...attributes });
  return make('span', { class: 'graph', 'aria-hidden': 'true' }, ...lanes, way, dot);
}

function words(step) {
  const kinds = { '+': 'add', '-': 'remove', '~': 'change' };
  const changes = changesOf(step).map(({ summary }) => make('li', { class: kinds[summary[0]] }, summary));
  return make('div', { class: 'what' }, badge(step),
    make('span', { class: 'actor', '--colour': colour(step.actor) }, step.actor), ` ${said(step)}`,
    changes.length > 0 ? make('ul', { class: 'changes' }, ...changes) : undefined);
}

// ---- Going from step to step ----

function goTo(step) {
  current = step;
  for (const element of document.querySelectorAll('.step')) {
    const number = Number(element.dataset.step);
    element.classList.toggle('later', number > step);
    if (number === step) {
      element.setAttribute('aria-current', 'step');
      element.scrollIntoView({ block: 'nearest' });
    } else {
      element.removeAttribute('aria-current');
    }
  }
  byId('position').replaceChildren(make('b', {}, String(step)), ` of ${steps.length}`);
  byId('first').disabled = byId('previous').disabled = step === 0;
  byId('last').disabled = byId('next').disabled = step === steps.length;
  byId('fault').disabled = nextFault() === undefined;
  showCard();
  showObjects();
  document.documentElement.dataset.step = step;
}

/** As `goTo`, and the address follows without a new entry in the history. */
function move(step) {
  if (step === undefined || step < 0 || step > steps.length || step === current) {
    return;
  }
  history.replaceState(null, '', `#step=${step}`);
  goTo(step);
}

function nextFault() {
  const index = steps.findIndex((step, index) => step.fault !== undefined && index + 1 > current);
  return index < 0 ? undefined : index + 1;
}

function listen() {
  const ways = {
    first: () => move(0),
    previous: () => move(current - 1),
    next: () => move(current + 1),
    last: () => move(steps.length),
    fault: () => move(nextFault()),
  };
  for (const [id, way] of Object.entries(ways)) {
    byId(id).addEventListener('click', way);
  }
  const keys = { Home: 'first', ArrowLeft: 'previous', ArrowRight: 'next', End: 'last', f: 'fault' };
  window.addEventListener('keydown', (event) => {
    const way = keys[event.key];
    // With Alt, an arrow goes back in the history: that is the browser's.
    if (way === undefined || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) {
      return;
    }
    event.preventDefault();
    ways[way]();
  });
  window.addEventListener('hashchange', () => goTo(stepOfAddress()));
  byId('bookkeeping').addEventListener('change', showObjects);
  byId('all').addEventListener('click', openOrCloseAll);
  if (!steps.some((step) => step.fault !== undefined)) {
    byId('fault').hidden = true;
  }
}

// ---- The objects after the step ----

function showCard() {
  const step = steps[current - 1];
  const position = make('div', { class: 'position' }, step ? `Step ${current} of ${steps.length}` : 'Before the first step');
  if (step === undefined) {
    byId('card').replaceChildren(position, make('div', { class: 'text' }, trace.check));
    return;
  }
  const actor = make('span', { class: 'actor', '--colour': colour(step.actor) }, step.actor);
  byId('card').replaceChildren(position, make('div', { class: 'text' }, badge(step), actor, ` ${said(step)}`));
}

function showObjects() {
  const [before, after] = [states[Math.max(current - 1, 0)], states[current]];
  const names = [...new Set([...before.keys(), ...after.keys()])];
  const latest = latelyChanged();
  const shown = names.map((name) => objectElement(name, valueIn(before, name), valueIn(after, name), latest));
  byId('count').textContent = counted([...after.keys()]);
  byId('objects').replaceChildren(...(shown.length > 0 ? shown : [make('p', { class: 'note' }, 'There are no objects.')]));
  nameAllButton();
  byId('objects').querySelector('.added, .removed, .changed')?.scrollIntoView({ block: 'nearest' });
}

/** `3 objects`, `1 object and 1 service` */
function counted(names) {
  const services = names.filter((name) => name.startsWith(SERVICE)).length;
  const many = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;
  const objects = many(names.length - services, 'object');
  return services === 0 ? objects : `${objects} and ${many(services, 'service')}`;
}

function valueIn(state, name) {
  return state.has(name) ? state.get(name) : ABSENT;
}

/** The objects and services of the latest change: they stay open until others change. */
function latelyChanged() {
  const step = steps.slice(0, current).findLast((step) => changesOf(step).length > 0);
  return new Set((step === undefined ? [] : changesOf(step)).map(({ object }) => object));
}

function objectElement(name, before, after, latest) {
  const difference = compare(withoutBookkeeping(before), withoutBookkeeping(after));
  const touched = before !== after;
  const change = touched ? (difference.change === 'same' ? 'changed' : difference.change) : 'same';
  const said = { added: 'created', removed: 'deleted', changed: 'changed' }[change];
  const [resource, ...rest] = name.split(' ');
  const label = make('span', { class: 'name' }, make('span', { class: 'resource' }, `${resource} `), make('b', {}, rest.join(' ')));
  const element = make('details', { class: `object ${change}`, 'data-object': name },
    make('summary', {}, label, said ? make('span', { class: 'state' }, said) : undefined));
  element.open = touched || (opened.get(name) ?? latest.has(name));
  const fields = make('div', { class: 'fields' }, ...fieldElements(difference));
  if (touched && !difference.touched) {
    fields.prepend(make('p', { class: 'note' }, 'Only resourceVersion or managedFields changed.'));
  }
  element.append(fields);
  element.querySelector('summary').addEventListener('click', () => opened.set(name, !element.open));
  element.addEventListener('toggle', nameAllButton);
  return element;
}

function nameAllButton() {
  const all = [...document.querySelectorAll('.object')];
  byId('all').textContent = all.every((element) => element.open) ? 'Collapse all' : 'Expand all';
  byId('all').disabled = all.length === 0;
}

function openOrCloseAll() {
  const all = [...document.querySelectorAll('.object')];
  const open = !all.every((element) => element.open);
  for (const element of all) {
    element.open = open;
    opened.set(element.dataset.object, open);
  }
}

/** Every write changes these, and they say nothing about what it was for. */
function withoutBookkeeping(value) {
  if (byId('bookkeeping').checked || !isMap(value) || !isMap(value.metadata)) {
    return value;
  }
  const { managedFields, resourceVersion, ...metadata } = value.metadata;
  return { ...value, metadata };
}
