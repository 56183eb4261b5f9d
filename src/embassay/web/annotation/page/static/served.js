// Answers that go to a server. The same calls as `filed.js`, where there is none.

/** An answer of the server that is no success: `status`, and what it says. */
export class Refusal extends Error {
  constructor(status, body) {
    super(body.error || `The server responded with status ${status}.`);
    this.status = status;
    this.body = body;
  }
}

/** There is no connection, or it broke off. */
export class Unreachable extends Error {}

const LONGEST = 15000;

export class Served {
  constructor(csrf) {
    this.csrf = csrf;
    this.offline = false;
    this.place = location.pathname;
  }

  study() { return this.ask("GET", "study"); }
  item(id) { return this.ask("GET", `items/${encodeURIComponent(id)}`); }
  async items(task) { return (await this.ask("GET", `tasks/${encodeURIComponent(task)}/items`)).items; }
  put(id, body) { return this.ask("PUT", `answers/${encodeURIComponent(id)}`, body); }
  tab(tab, take) { return this.ask("POST", "tab", { tab, take }); }
  finish(task, tab) { return this.ask("POST", `tasks/${encodeURIComponent(task)}/finish`, { tab }); }
  profile(body) { return this.ask("PUT", "profile", body); }

  async ask(method, path, body) {
    const headers = method === "GET" ? {} : { "Content-Type": "application/json", "X-CSRF-Token": this.csrf };
    let answer;
    try {
      answer = await fetch(path, {
        method, headers, cache: "no-store", body: body && JSON.stringify(body), signal: AbortSignal.timeout(LONGEST),
      });
    } catch (error) {
      throw new Unreachable(error.message);
    }
    let said = {};
    try {
      said = await answer.json();
    } catch (error) {
      if (answer.ok) throw new Unreachable(error.message);
    }
    if (!answer.ok) throw new Refusal(answer.status, said && typeof said === "object" ? said : {});
    return said;
  }
}
