// Search on pages that are opened as files: a browser starts no Worker there, so a frame does its
// work. The frame's script posts to its parent what a Worker would post to its owner.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      const script = document.createElement("script");
      script.src = url;
      frame.srcdoc = `<script>postMessage = (data) => parent.dispatchEvent(
        new MessageEvent("${url}", { data }))</script>${script.outerHTML}`;
      window.addEventListener(url, (event) =>
        this.dispatchEvent(new MessageEvent("message", { data: event.data })));
      this.loaded = new Promise((done) => { frame.onload = done; });
      this.frame = frame;
      document.body.append(frame);
    }
    postMessage(data) {
      this.loaded.then(() =>
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
