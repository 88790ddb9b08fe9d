import { render } from "preact";
import { App } from "./app";
import { start } from "./entry";
import { startFeed } from "./feed";

render(<App />, document.getElementById("app")!);
startFeed();
void start();
