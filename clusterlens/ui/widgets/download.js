export function render({model}) {
  let pieces = [];
  model.on('msg:custom', (data) => {
    const {name, piece, last} = data;
    pieces.push(Uint8Array.from(atob(piece), (c) => c.charCodeAt(0)));
    if (!last) return;
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob(pieces));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    pieces = [];
  });
  return document.createElement('span');
}
