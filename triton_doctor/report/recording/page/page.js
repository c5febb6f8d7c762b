"use strict";
// Draws the timeline from the data in #moments, and makes the rows of kernels open, close and sort.
(() => {
  const data = JSON.parse(document.getElementById("moments").textContent);
  const KIND = 2, KERNEL = 3, SITE = 4, CODE = 5, NOTE = 6, CHANGES = 7;
  const GUTTER = 168, AXIS = 26, LEAST_SPAN_US = 5;

  const duration = (us) =>
    us >= 1e6 ? `${(us / 1e6).toFixed(us >= 1e7 ? 1 : 2)} s` : us >= 1e3 ? `${(us / 1e3).toFixed(us >= 1e5 ? 0 : 1)} ms` : `${Math.round(us)} µs`;
  const make = (tag, text, name) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (name) made.className = name;
    return made;
  };

  // Lanes of intervals, sorted by their beginning: [begin, duration, kind, kernel, site, code, note, ...changes].
  const lanes = data.lanes.map((lane) => {
    let at = 0;
    const moments = lane.moments.map((packed) => {
      at += packed[0];
      return [at, ...packed.slice(1)];
    });
    const owners = new Map(moments.map((moment, index) => [moment, lane.threads[lane.owners[index] || 0]]));
    return { process: lane.process, threads: lane.threads, owners, moments };
  });
  const text = (moment, field) => data.texts[moment[field] || 0];

  const changes = (moment) => {
    const parts = [];
    for (let at = CHANGES; at < moment.length; at += 3)
      parts.push(`${text(moment, at)} is ${text(moment, at + 1)}, was ${text(moment, at + 2)}`);
    return parts.join("; ");
  };

  function timeline(canvas) {
    const bar = document.getElementById("timeline-bar");
    const detail = document.getElementById("timeline-detail");
    const context = canvas.getContext("2d");
    const height = lanes.length > 12 ? 17 : 30;
    const whole = data.wall_us;
    const first = Math.min(...lanes.map((lane) => lane.moments[0][0]));
    // The program often loads for half of its time before its first kernel: begin there.
    let from = Math.max(0, first - (whole - first) / 40), span = whole - from, chosen = null, colors = {};
    // Longer intervals first: what happened in one is drawn on it.
    const order = lanes.map((lane) => [...lane.moments].sort((a, b) => depth(a) - depth(b) || b[1] - a[1]));
    const flat = lanes.flatMap((lane, row) => lane.moments.map((moment) => [row, moment])).sort((a, b) => a[1][0] - b[1][0]);

    function depth(moment) {
      return data.kinds[moment[KIND]].depth;
    }
    function readColors() {
      const style = getComputedStyle(document.documentElement);
      const color = (name) => style.getPropertyValue(name).trim();
      colors = { ink: color("--ink"), faint: color("--faint"), line: color("--line"), wash: color("--wash") };
      colors.kinds = data.kinds.map((kind) => color(kind.color));
      colors.mono = color("--mono");
    }
    const width = () => canvas.clientWidth;
    const scale = () => (width() - GUTTER - 8) / span;
    const x = (us) => GUTTER + (us - from) * scale();
    const top = (row) => AXIS + row * height;

    function clamp() {
      span = Math.min(whole, Math.max(LEAST_SPAN_US, span));
      from = Math.min(whole - span, Math.max(0, from));
    }
    function zoom(factor, middle = from + span / 2) {
      const share = (middle - from) / span;
      span = Math.min(whole, Math.max(LEAST_SPAN_US, span * factor));
      from = middle - share * span;
      clamp();
      draw();
    }
    function ticks() {
      const rough = span / Math.max(2, (width() - GUTTER) / 110);
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
      const found = [];
      for (let at = Math.ceil(from / step) * step; at <= from + span; at += step) found.push(at);
      return found;
    }
    function box(row, moment) {
      const inset = [0, 3, 6][depth(moment)] * (height > 20 ? 1 : 0.6);
      const left = Math.max(GUTTER, x(moment[0]));
      const right = Math.min(width() - 8, x(moment[0] + moment[1]));
      return [left, top(row) + 3 + inset, Math.max(right - left, 1), height - 6 - inset];
    }
    function draw() {
      const ratio = window.devicePixelRatio || 1;
      const tall = AXIS + lanes.length * height + 6;
      canvas.style.height = `${tall}px`;
      canvas.width = Math.round(width() * ratio);
      canvas.height = Math.round(tall * ratio);
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width(), tall);
      context.font = "12px ui-sans-serif, system-ui, sans-serif";
      context.textBaseline = "middle";
      context.textAlign = "center";
      for (const at of ticks()) {
        context.fillStyle = colors.line;
        context.fillRect(Math.round(x(at)), AXIS - 6, 1, tall);
        context.fillStyle = colors.faint;
        if (x(at) > GUTTER + 12 && x(at) < width() - 30) context.fillText(duration(at), x(at), AXIS / 2);
      }
      context.textAlign = "left";
      lanes.forEach((lane, row) => {
        const first = row === 0 || lanes[row - 1].process !== lane.process;
        if (first) {
          context.fillStyle = colors.line;
          context.fillRect(0, top(row), width(), 1);
        }
        context.fillStyle = first ? colors.ink : colors.faint;
        const label = first ? lane.process : lane.threads.length > 1 ? `${lane.threads.length} threads` : `thread ${lane.threads[0]}`;
        context.fillText(label.length > 24 ? `${label.slice(0, 23)}…` : label, 10, top(row) + height / 2 + 3, GUTTER - 18);
        for (const moment of order[row]) {
          if (moment[0] + moment[1] < from || moment[0] > from + span) continue;
          const [left, above, wide, tallness] = box(row, moment);
          context.fillStyle = colors.kinds[moment[KIND]];
          context.fillRect(left, above, wide, tallness);
          if (wide > 60 && height > 20) label_on(moment, left, above, wide, tallness);
        }
      });
      if (chosen) {
        const [left, above, wide, tallness] = box(chosen[0], chosen[1]);
        context.strokeStyle = colors.ink;
        context.lineWidth = 2;
        context.strokeRect(left - 1, above - 1, wide + 2, tallness + 2);
      }
    }
    function label_on(moment, left, above, wide, tallness) {
      context.save();
      context.beginPath();
      context.rect(left, above, wide - 4, tallness);
      context.clip();
      context.fillStyle = data.kinds[moment[KIND]].depth === 2 ? "#fff" : colors.ink;
      context.font = `11px ${colors.mono}`;
      context.fillText(text(moment, KERNEL), left + 5, above + tallness / 2 + 0.5);
      context.restore();
    }
    function find(px, py) {
      const row = Math.floor((py - AXIS) / height);
      if (row < 0 || row >= lanes.length || px < GUTTER) return null;
      const hits = order[row].filter((moment) => {
        const [left, , wide] = box(row, moment);
        return px >= left - 2 && px <= left + wide + 2;
      });
      return hits.length ? [row, hits[hits.length - 1]] : null;
    }
    function show(hit) {
      detail.replaceChildren();
      if (!hit) return void detail.append("choose an event to see its kernel and cause");
      const [row, moment] = hit;
      const lane = lanes[row], thread = lane.owners.get(moment);
      const kernel = text(moment, KERNEL);
      if (kernel) detail.append(make("code", kernel), " ");
      detail.append(make("b", `${data.kinds[moment[KIND]].name} ${duration(moment[1])}`));
      detail.append(` at ${duration(moment[0])}, ${lane.process}${thread ? `, thread ${thread}` : ""}`);
      const why = [text(moment, CODE), text(moment, NOTE), changes(moment)].filter(Boolean).join(": ");
      if (why) detail.append(make("br"), why);
      if (text(moment, SITE)) detail.append(make("br"), make("span", `launched at ${text(moment, SITE)}`, "place"));
    }
    function choose(hit, reveal) {
      chosen = hit;
      if (hit && reveal) {
        const [begin, long] = hit[1];
        if (begin < from || begin + long > from + span) {
          from = begin + long / 2 - span / 2;
          clamp();
        }
      }
      show(hit);
      draw();
    }
    function step(by) {
      const now = chosen ? flat.findIndex((hit) => hit[1] === chosen[1]) : by > 0 ? -1 : flat.length;
      const next = Math.min(flat.length - 1, Math.max(0, now + by));
      if (flat.length) choose(flat[next], true);
    }

    const keys = {
      ArrowLeft: () => ((from -= span / 8), clamp(), draw()),
      ArrowRight: () => ((from += span / 8), clamp(), draw()),
      "+": () => zoom(1 / 1.6),
      "=": () => zoom(1 / 1.6),
      "-": () => zoom(1.6),
      0: () => ((from = 0), (span = whole), draw()),
      n: () => step(1),
      p: () => step(-1),
      Escape: () => choose(null),
    };
    canvas.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      keys[event.key]();
      event.preventDefault();
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey && !event.deltaX) return;
        event.preventDefault();
        if (event.deltaX) (from += event.deltaX / scale()), clamp(), draw();
        else zoom(event.deltaY > 0 ? 1.25 : 0.8, from + (event.offsetX - GUTTER) / scale());
      },
      { passive: false },
    );
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.offsetX, from, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!drag) {
        if (!chosen) show(find(event.offsetX, event.offsetY));
        return;
      }
      drag.moved ||= Math.abs(event.offsetX - drag.x) > 3;
      from = drag.from - (event.offsetX - drag.x) / scale();
      clamp();
      draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag && !drag.moved) choose(find(event.offsetX, event.offsetY));
      drag = null;
    });
    canvas.addEventListener("pointercancel", () => (drag = null));
    canvas.addEventListener("dblclick", (event) => zoom(0.4, from + (event.offsetX - GUTTER) / scale()));

    const used = new Set(flat.map(([, moment]) => moment[KIND]));
    data.kinds.forEach((kind, index) => {
      if (!used.has(index)) return;
      const entry = make("span");
      const swatch = make("i", "", "swatch");
      swatch.style.background = `var(${kind.color})`;
      entry.append(swatch, kind.name);
      bar.append(entry);
    });
    const buttons = make("span", "", "buttons");
    for (const [label, name, act] of [
      ["+", "zoom in", keys["+"]],
      ["−", "zoom out", keys["-"]],
      ["all", "show all of it", keys[0]],
    ]) {
      const button = make("button", label);
      button.type = "button";
      button.setAttribute("aria-label", name);
      button.addEventListener("click", act);
      buttons.append(button);
    }
    bar.append(buttons);

    const redraw = () => (readColors(), draw());
    new ResizeObserver(redraw).observe(canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    redraw();
  }

  function openers() {
    document.querySelectorAll(".opener").forEach((old, index) => {
      const row = document.getElementById(old.dataset.controls);
      const button = make("button", "", "opener");
      button.type = "button";
      button.append(...old.childNodes);
      button.setAttribute("aria-controls", row.id);
      const set = (open) => {
        row.hidden = !open;
        button.setAttribute("aria-expanded", String(open));
      };
      button.addEventListener("click", () => set(row.hidden));
      old.replaceWith(button);
      set(index === 0);
    });
  }

  function sorters(table) {
    const value = (body, column) => {
      const shown = body.rows[0].cells[column].textContent.trim();
      const number = parseFloat(shown.replace(/[^0-9.]/g, ""));
      return column === 0 ? shown : Number.isNaN(number) ? -1 : number;
    };
    [...table.tHead.rows[0].cells].forEach((cell, column) => {
      const button = make("button", cell.textContent, "opener-sort");
      button.type = "button";
      button.addEventListener("click", () => {
        const bodies = [...table.tBodies];
        bodies.sort((a, b) => {
          const [left, right] = [value(a, column), value(b, column)];
          return column === 0 ? left.localeCompare(right) : right - left;
        });
        table.append(...bodies);
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", column === 0 ? "ascending" : "descending");
      });
      cell.replaceChildren(button);
    });
  }

  const canvas = document.getElementById("timeline-canvas");
  if (canvas) timeline(canvas);
  openers();
  const table = document.getElementById("kernels-table");
  if (table) sorters(table);
})();
