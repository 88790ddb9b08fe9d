package bashtest

import (
	"math/rand/v2"
	"strings"
)

// Seeds are commands of the kinds that agents run, and the constructs that shells have. "⏎" is a
// line end.
var Seeds = strings.Split(strings.TrimSpace(`
git status
git log --oneline -5 | head -3
ls -la /tmp; cat a.txt && echo done || true
grep -rn "foo bar" --include='*.go' . | wc -l
find . -name '*.go' -type f -exec grep -l x {} +
find . -name '*.tmp' -exec rm -f {} \;
find . -print0 | xargs -0 -n 1 grep foo
cat <<'EOF'⏎it's $(rm) text⏎EOF
cat <<EOF > out.txt⏎hello $USER ok⏎EOF
cat <<-EOF | sort -u⏎	tabbed⏎	EOF
cat <<A <<B⏎one⏎A⏎two⏎B
git commit -m "$(cat <<'EOF'⏎subject⏎⏎it's a body (with) "quotes"⏎EOF⏎)"
for f in *.txt a b; do echo "$f"; done
for f in 1 2 3⏎do⏎ls $f⏎done
while read -r line; do echo "$line"; done < in.txt
until false; do ls; break; done
if [ -f a ]; then cat a; elif [ -d b ]; then ls b; else echo no; fi
if [[ -n $x && ! -f y ]]; then ls; fi
case $x in a|b) ls;; *) echo "x y";; esac
case "$1" in (a) ls ;& b) cat;; esac
{ ls; pwd; } 2>/dev/null
( cd sub && ls ) > out.log 2>&1
echo $(date) "$(pwd)" `+"`whoami`"+`
echo "$(echo "$(echo inner)")"
diff <(sort a) <(sort b)
tee >(cat) < in.txt
timeout 10 go test ./... -run 'TestX$'
env LANG=C sort -k 2
LANG=C NO_COLOR=1 ls -l
nohup nice -n 5 make -j4 &
ls & pwd & wait
time ls -l
time -p ls | cat
! grep -q x y
! ls | cat
a || b && c || d
a | b |& c | d
ls >out 2>err </dev/null
ls &>all.log
ls &>>all.log
ls >| force
echo hi >&2
echo hi 1>&2 2>&1
echo a\ b 'c d' "e f" g\\h
echo "a\"b\$c\\d"
echo 'it'\''s'
echo ${x} ${x:-def} ${#x} ${x%.*} ${x##*/} ${x//a/b} $1 $? $# "$@"
echo $((1+2*3)) $((7%2))
echo {a,b}.txt file{1..3} {x} stash@{0}
echo *.go a?b [abc]x ~ ~/x HEAD~1 a~b
[[ $x == a* ]] && ls
[[ $x =~ ^[0-9]+$ ]] && ls
[[ a < b || c > d ]]
ls # a comment
# only⏎ls
ls \⏎  -l \⏎  -a
echo a;echo b;⏎echo c⏎⏎
echo "multi⏎line" 'multi⏎line'
bash -c 'ls; pwd'
sh -c "ls | wc -l"
xargs -I{} grep {} file
printf '%s\n' a b
echo 2>1 3 >4 5
echo a2>b 2 >c
x=1; ls
export LANG=C; ls
cd sub && ls; pwd
echo -n foo=bar =x a=b
echo $'tab\there' $"locale"
echo if then fi done { } ! [[ ]]
ls "a"'b'c\d
read -r x y
cat < a > b | cat >> c
echo a#b #c
echo $x#y "${x}"#z
echo "a$(ls | head -1)b$(pwd)c"
echo $(ls; pwd) $(⏎ls⏎)
echo $(ls # note⏎)
cat <<< "$x" <<<word
if ls; then :; fi | cat
while false; do :; done & 
{ ls; } | { cat; }
( ls ) | ( cat )
if true; then if false; then ls; fi; fi
for x in a; do for y in b; do ls; done; done
case a in a) case b in b) ls;; esac;; esac
`), "\n")

// Fragments are what mutants get: tokens that change how what follows is read.
var Fragments = []string{
	";", "&", "&&", "||", "|", "|&", "\n", " ", "\t", "(", ")", "{", "}", "{ ", "; }", "$(", "`", "\"", "'", "\\", "\\\n", " \\\n", "\\\n ", "#", " #", "# ", "$", "$$", "$'", "$\"", "${", "$((", "))", "((", "[[", "]]", " ]] ", "[", "]",
	"<", ">", "<<", "<<<", ">>", ">&", "<&", ">&-", "<&-", ">&1", "<&0", ">&--x", "2>", "&>", "<>", ">|", "<(", ">(", "<<EOF\n", "<<'EOF'\n", "\nEOF\n", "<<-EOF\n", "EOF", "<<E\\OF\n", "<<\"\"\n",
	"!", "! ", " ! ", "*", "?", "~", "=", "+=", "a=", "a[0]=", "a=(", "{a,b}", "{1..3}", "@(a|b)", "!(a)", "?(x)", "+(x)", ";;", ";&", ";;&", "esac", "done", "fi", "then ", "do ", "if ", "while ", "for x in ", "case x in ", "time ", "time -p ", "time -- ", "coproc ", "function f ", "f()", "select x in ", "until ", "let ", "export ", "declare ", "eval ",
	"{x}>", "2", "10", "-", "--", "-c", "\\;", "{}", "+", "%", "^", ",", ":", "rm -rf x", " rm x ", "\nrm x\n", ";rm x", "$x", "${x}", "${x:-y}", "${x#", "${#", "$#", "$1", "\"$@\"", "é", "日本", "&;", ";|", "|;", "\\\\", "\\'", "\\\"", "\\`", "\\$", "''", "\"\"", "$(<f)", "$[1+1]", "$((1))", "$( (ls) )", "$((ls))", "((1))", ">(", "x()", "\n\n", "\n#c\n", "#c\\\n", "else ", "elif ", "in ", "]", "=~", "==", "-eq 1", "<a", ">b", "2>&1", "-o", "-a", "\v", "\r", "$\\\n", "<\\\n<", "|\\\n|",
}

// Mutants yields commands made of those in from, the same ones for the same number.
func Mutants(from []string, seed uint64, yield func(string) bool) {
	rng := rand.New(rand.NewPCG(seed, 1))
	pick := func(list []string) string { return list[rng.IntN(len(list))] }
	whole := func() string { return strings.ReplaceAll(pick(from), "⏎", "\n") }
	for {
		s := whole()
		for range rng.IntN(4) + 1 {
			at := rng.IntN(len(s) + 1)
			to := min(len(s), at+rng.IntN(6))
			switch rng.IntN(9) {
			case 0, 1, 2, 3:
				s = s[:at] + pick(Fragments) + s[at:]
			case 4:
				s = s[:at] + s[to:]
			case 5:
				s = s[:at] + pick(Fragments) + s[to:]
			case 6:
				other := whole()
				cut := rng.IntN(len(other) + 1)
				s = s[:at] + other[cut:]
			case 7:
				s += pick([]string{" ", ";", "\n", " && ", " | ", ""}) + whole()
			case 8:
				from := rng.IntN(len(s) + 1)
				s = s[:at] + s[from:min(len(s), from+rng.IntN(8))] + s[at:]
			}
		}
		if !yield(s) {
			return
		}
	}
}
