// Starts the page: with a server behind it, or with a study inside it.
import { App } from "./app.js";
import { $ } from "./dom.js";
import { Filed } from "./filed.js";
import { Served } from "./served.js";

const inside = $("#study");
const transport = inside ? new Filed(JSON.parse(inside.textContent)) : new Served($('meta[name="csrf"]').content);
new App(transport).begin();
