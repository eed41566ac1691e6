/* Texts whose contrast with what is behind them is below 4.5 (WCAG 2.1, 1.4.3), as [text, ratio]. */
(() => {
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((one) => one / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const backgrounds = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const style = getComputedStyle(one);
      const solid = (style.backgroundImage.match(/rgba?\([^)]*\)/g) || []).map(numbers).filter((c) => c.length < 4 || c[3] > 0);
      const own = numbers(style.backgroundColor);
      if (own.length < 4 || own[3] > 0) return [...solid, own];
      if (solid.length) return [...solid, [255, 255, 255]];
    }
    return [[255, 255, 255]];
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility() || element.closest("script, style, svg")) continue;
    const ink = light(numbers(getComputedStyle(element).color));
    for (const behind of backgrounds(element).map(light)) {
      const ratio = (Math.max(ink, behind) + 0.05) / (Math.min(ink, behind) + 0.05);
      if (ratio < 4.5) bad.push([node.data.trim().slice(0, 40), ratio]);
    }
  }
  return bad;
})()
