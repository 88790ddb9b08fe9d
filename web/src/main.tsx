import { render } from "preact";
import { App } from "./app";
import { arrive } from "./arrive";
import { start } from "./entry";
import { startFeed } from "./feed";
import { startKeys } from "./keys";

render(<App />, document.getElementById("app")!);
startFeed();
startKeys();
arrive();
void start();
