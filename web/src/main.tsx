import { render } from "preact";
import { App } from "./app";
import { arrive } from "./device/arrive";
import { start } from "./device/entry";
import { startKeys } from "./panels/keys";
import { startCurrent } from "./queue/current";
import { watchPresses } from "./queue/press";

watchPresses();
render(<App />, document.getElementById("app")!);
startCurrent();
startKeys();
arrive();
void start();
