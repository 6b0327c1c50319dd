
// The menu of a frame.

/** @typedef {{name: string, key: string, run: () => void, isOff?: boolean}} Item */

class Menu {
  /** @param {HTMLElement} box */
  constructor(box) {
    this.box = box;
    /** @type {HTMLElement | null} */
    this.opener = null;
    document.addEventListener('pointerdown', (event) => {
      if (!box.contains(/** @type {Node} */ (event.target))) this.close(false);
    });
    addEventListener('blur', () => this.close(false));
    addEventListener('resize', () => this.close(false));
    box.addEventListener('keydown', (event) => this.key(event));
  }

  get isOpen() {
    return !this.box.hidden;
  }

  /**
   * @param {string} head
   * @param {Item[]} items
   * @param {number} x
   * @param {number} y
   */
  open(head, items, x, y) {
    this.opener = /** @type {HTMLElement | null} */ (document.activeElement);
    const buttons = items.map((item) => {
      const button = element('button', { type: 'button', role: 'menuitem', tabindex: '-1' }, item.name, element('kbd', {}, item.key));
      button.disabled = item.isOff ?? false;
      button.addEventListener('click', () => {
        this.close(true);
        item.run();
      });
      return button;
    });
    this.box.replaceChildren(element('div', { class: 'head' }, head), ...buttons);
    this.box.hidden = false;
    const { width, height } = this.box.getBoundingClientRect();
    this.box.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
    this.box.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 4))}px`;
    buttons.find((button) => !button.disabled)?.focus();
  }

  /** @param {boolean} returnsFocus */
  close(returnsFocus) {
    if (!this.isOpen) return;
    this.box.hidden = true;
    if (returnsFocus) this.opener?.focus();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    event.stopPropagation();
    const buttons = [...this.box.querySelectorAll('button')].filter((button) => !button.disabled);
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    /** @type {Record<string, number>} */
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1 + buttons.length, Home: 0, End: buttons.length - 1 };
    if (event.key === 'Escape' || event.key === 'Tab') {
      event.preventDefault();
      this.close(true);
    } else if (event.key in moves) {
      event.preventDefault();
      buttons[moves[event.key] % buttons.length].focus();
    }
  }
}
