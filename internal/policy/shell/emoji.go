package shell

import (
	"strings"
	"unicode/utf8"
)

const (
	joiner  = '\u200d'     // between two pictures: one picture of both
	colours = '\ufe0f'     // behind a picture: drawn in colours, not as text
	tagG    = '\U000E0067' // with which the name of a part of Great Britain begins

	// keycap behind a digit draws it as a key. Unicode lists it behind # and * too, but these mean something to a shell.
	keycap = "\ufe0f\u20e3"
)

// emojiLength returns how long the emoji is with which text begins, if it holds characters that nobody sees and
// if these are certainly nothing but a part of it; else 0. Certain is what Unicode lists (RGI emoji, 16.0), written
// in full: the joiners and the selectors of colours stand where they have to, and nowhere else. Everything else
// that cannot be seen stays a doubt.
func emojiLength(text string) int {
	_, n := utf8.DecodeRuneInString(text)
	if c, _ := utf8.DecodeRuneInString(text[n:]); c != joiner && c != colours && !isSkin(c) && c != tagG {
		return 0 // as nearly everything
	}
	for _, flag := range flags {
		if strings.HasPrefix(text, flag) {
			return len(flag)
		}
	}
	var pictures strings.Builder
	hidden := false
	for i := 0; ; {
		c, n := utf8.DecodeRuneInString(text[i:])
		if c < 0xA9 || c == utf8.RuneError {
			return 0
		}
		pictures.WriteRune(c)
		i += n
		mark, n := utf8.DecodeRuneInString(text[i:])
		switch asText := strings.ContainsRune(drawnAsText, c); {
		case mark == colours && asText:
			i += n
			hidden = true
		case isSkin(mark): // which is in colours
			i += n
		case mark == colours || asText:
			return 0
		}
		if after, n := utf8.DecodeRuneInString(text[i:]); after == joiner {
			i += n
			hidden = true
			continue
		}
		if key := pictures.String(); !hidden || utf8.RuneCountInString(key) > 1 && !strings.Contains(joinedPictures, " "+key+" ") {
			return 0
		}
		return i
	}
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isSkin(c rune) bool { return 0x1F3FB <= c && c <= 0x1F3FF }

// flags are written with characters that nobody sees: England, Scotland and Wales.
var flags = []string{
	"\U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F",
	"\U0001F3F4\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F",
	"\U0001F3F4\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F",
}

// drawnAsText are the pictures that are drawn without colours where nothing says otherwise.
const drawnAsText = "" +
	"©®‼⁉™ℹ↔↕↖↗↘↙↩↪⌨⏏⏭⏮⏯⏱⏲⏸⏹⏺Ⓜ▪▫▶◀◻◼☀☁☂☃☄☎☑☘☝☠☢☣☦☪☮☯☸☹☺♀♂♟♠♣♥♦♨♻♾⚒⚔⚕⚖" +
	"⚗⚙⚛⚜⚠⚧⚰⚱⛈⛏⛑⛓⛩⛰⛱⛴⛷⛸⛹✂✈✉✌✍✏✒✔✖✝✡✳✴❄❇❣❤➡⤴⤵⬅⬆⬇〰〽㊗㊙🅰🅱🅾🅿🈂🈷🌡🌤🌥🌦🌧🌨🌩🌪🌫🌬🌶🍽" +
	"🎖🎗🎙🎚🎛🎞🎟🏋🏌🏍🏎🏔🏕🏖🏗🏘🏙🏚🏛🏜🏝🏞🏟🏳🏵🏷🐿👁📽🕉🕊🕯🕰🕳🕴🕵🕶🕷🕸🕹🖇🖊🖋🖌🖍🖐🖥🖨🖱🖲🖼🗂🗃🗄🗑🗒🗓🗜🗝🗞🗡🗣🗨🗯" +
	"🗳🗺🛋🛍🛎🛏🛠🛡🛢🛣🛤🛥🛩🛰🛳"

// joinedPictures are the pictures that are one when they are joined, without joiners, colours and skin.
const joinedPictures = "" +
	" ⛓💥 ⛹♀ ⛹♂ ❤🔥 ❤🩹 🍄🟫 🍋🟩 🏃♀ 🏃♀➡ 🏃♂ 🏃♂➡ 🏃➡ 🏄♀ 🏄♂ 🏊♀ 🏊♂ 🏋♀ 🏋♂ 🏌♀ 🏌♂ 🏳⚧ 🏳🌈 🏴☠" +
	" 🐈⬛ 🐕🦺 🐦⬛ 🐦🔥 🐻❄ 👁🗨 👨⚕ 👨⚖ 👨✈ 👨❤👨 👨❤💋👨 👨🌾 👨🍳 👨🍼 👨🎓 👨🎤 👨🎨 👨🏫 👨🏭 👨🐰👨 👨👦 👨👦👦" +
	" 👨👧 👨👧👦 👨👧👧 👨👨👦 👨👨👦👦 👨👨👧 👨👨👧👦 👨👨👧👧 👨👩👦 👨👩👦👦 👨👩👧 👨👩👧👦 👨👩👧👧 👨💻 👨💼 👨🔧 👨🔬" +
	" 👨🚀 👨🚒 👨🤝👨 👨🦯 👨🦯➡ 👨🦰 👨🦱 👨🦲 👨🦳 👨🦼 👨🦼➡ 👨🦽 👨🦽➡ 👩⚕ 👩⚖ 👩✈ 👩❤👨 👩❤👩 👩❤💋👨 👩❤💋👩" +
	" 👩🌾 👩🍳 👩🍼 👩🎓 👩🎤 👩🎨 👩🏫 👩🏭 👩🐰👩 👩👦 👩👦👦 👩👧 👩👧👦 👩👧👧 👩👩👦 👩👩👦👦 👩👩👧 👩👩👧👦 👩👩👧👧" +
	" 👩💻 👩💼 👩🔧 👩🔬 👩🚀 👩🚒 👩🤝👨 👩🤝👩 👩🦯 👩🦯➡ 👩🦰 👩🦱 👩🦲 👩🦳 👩🦼 👩🦼➡ 👩🦽 👩🦽➡ 👮♀ 👮♂ 👯♀ 👯♂" +
	" 👰♀ 👰♂ 👱♀ 👱♂ 👳♀ 👳♂ 👷♀ 👷♂ 💁♀ 💁♂ 💂♀ 💂♂ 💆♀ 💆♂ 💇♀ 💇♂ 🕵♀ 🕵♂ 😮💨 😵💫 😶🌫 🙂↔ 🙂↕" +
	" 🙅♀ 🙅♂ 🙆♀ 🙆♂ 🙇♀ 🙇♂ 🙋♀ 🙋♂ 🙍♀ 🙍♂ 🙎♀ 🙎♂ 🚣♀ 🚣♂ 🚴♀ 🚴♂ 🚵♀ 🚵♂ 🚶♀ 🚶♀➡ 🚶♂ 🚶♂➡ 🚶➡" +
	" 🤦♀ 🤦♂ 🤵♀ 🤵♂ 🤷♀ 🤷♂ 🤸♀ 🤸♂ 🤹♀ 🤹♂ 🤼♀ 🤼♂ 🤽♀ 🤽♂ 🤾♀ 🤾♂ 🦸♀ 🦸♂ 🦹♀ 🦹♂ 🧍♀ 🧍♂ 🧎♀" +
	" 🧎♀➡ 🧎♂ 🧎♂➡ 🧎➡ 🧏♀ 🧏♂ 🧑⚕ 🧑⚖ 🧑✈ 🧑❤💋🧑 🧑❤🧑 🧑🌾 🧑🍳 🧑🍼 🧑🎄 🧑🎓 🧑🎤 🧑🎨 🧑🏫 🧑🏭 🧑🐰🧑" +
	" 🧑💻 🧑💼 🧑🔧 🧑🔬 🧑🚀 🧑🚒 🧑🤝🧑 🧑🦯 🧑🦯➡ 🧑🦰 🧑🦱 🧑🦲 🧑🦳 🧑🦼 🧑🦼➡ 🧑🦽 🧑🦽➡ 🧑🧑🧒 🧑🧑🧒🧒 🧑🧒 🧑🧒🧒" +
	" 🧑🩰 🧔♀ 🧔♂ 🧖♀ 🧖♂ 🧗♀ 🧗♂ 🧘♀ 🧘♂ 🧙♀ 🧙♂ 🧚♀ 🧚♂ 🧛♀ 🧛♂ 🧜♀ 🧜♂ 🧝♀ 🧝♂ 🧞♀ 🧞♂ 🧟♀ 🧟♂" +
	" 🫱🫲" + " "
