import { render } from "preact";
import { App } from "./app";
import { arrive } from "./device/arrive";
import { start } from "./device/entry";
import { startKeys } from "./panels/keys";
import { startFeed } from "./story/feed";

render(<App />, document.getElementById("app")!);
startFeed();
startKeys();
arrive();
void start();
