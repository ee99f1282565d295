"use strict";
async function draw() {
  const reply = await fetch(location.origin + "/api/status");
  document.getElementById("status").textContent = JSON.stringify(await reply.json(), null, 2);
}
setInterval(draw, 1000);
draw();
