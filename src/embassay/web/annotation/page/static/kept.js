// What this browser keeps between visits. Where it may keep nothing, it does so until the page is closed.

export class Kept {
  constructor(place) {
    this.place = place;
    this.memory = new Map();
    this.lasting = this.works();
  }

  works() {
    try {
      localStorage.setItem(this.place + "?", "1");
      localStorage.removeItem(this.place + "?");
      return true;
    } catch {
      return false;
    }
  }

  read(name, otherwise) {
    try {
      const text = this.lasting ? localStorage.getItem(this.place + name) : this.memory.get(name);
      return text === null || text === undefined ? otherwise : JSON.parse(text);
    } catch {
      return otherwise;
    }
  }

  /** Whether it was written: a full store refuses. */
  write(name, value) {
    const text = JSON.stringify(value);
    try {
      if (this.lasting) localStorage.setItem(this.place + name, text);
      else this.memory.set(name, text);
      return this.lasting;
    } catch {
      this.lasting = false;
      this.memory.set(name, text);
      return false;
    }
  }
}
