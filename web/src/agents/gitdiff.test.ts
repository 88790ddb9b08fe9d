import assert from "node:assert/strict";
import { test } from "node:test";
import type { Line } from "../card/diff";
import { readDiff } from "./gitdiff";

const drawn = (lines: Line[] | undefined) => lines?.map((l) => `${l.number}${l.sign}${l.text}${l.blank ? `*${l.blank}` : ""}`);

test("a diff of git, file by file", () => {
  const files = readDiff(`diff --git a/src/cart.js b/src/cart.js
index 5f..6a 100644
--- a/src/cart.js
+++ b/src/cart.js
@@ -10,3 +10,4 @@ function total() {
 let sum = 0;
-return sum;
+--- a
+return sum / 100;
 }
@@ -40 +41,0 @@
-gone
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+
diff --git a/logo.png b/logo.png
Binary files a/logo.png and b/logo.png differ
diff --git "a/gr\\303\\274n \\"x\\".txt" "b/gr\\303\\274n \\"x\\".txt"
deleted file mode 100644
--- "a/gr\\303\\274n \\"x\\".txt"
+++ /dev/null
@@ -1 +0,0 @@
-a
\\ No newline at end of file
`);
  assert.deepEqual([...files.keys()], ["src/cart.js", "new.txt", 'grün "x".txt']);
  assert.deepEqual(drawn(files.get("src/cart.js")), ["10 let sum = 0;", "11-return sum;", "11+--- a", "12+return sum / 100;", "13 }", "0 ⋯", "40-gone"]);
  assert.deepEqual(drawn(files.get("new.txt")), ["1+"]);
  assert.deepEqual(drawn(files.get('grün "x".txt')), ["1-a"]);
});

test("what is no diff has no files, and a cut one as far as it goes", () => {
  assert.equal(readDiff("").size, 0);
  assert.equal(readDiff("@@ -1 +1 @@\n-x\n+y").size, 0);
  assert.deepEqual(drawn(readDiff("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n-b").get("x")), ["1 a", "2-b"]);
  assert.deepEqual(drawn(readDiff("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\u202e\n+b").get("x")), ["1-a⟦U+202E⟧", "1+b"]);
});
