package hook

import (
	"strconv"
	"strings"
	"time"
)

// What a model reads of a denial that nobody decided. It must not read as if a person had
// refused, and it says what to do instead: a model that only hears "no" tries other ways.

const insteadWords = " Do not try the same again, nor a way around it: go on with what needs no permission, or stop and say what you could not do."

const nobodyAnswered = "Nobody answered this permission request in "

// SaysTimeout is whether a denial's words are those of TimeoutWords.
func SaysTimeout(words string) bool { return strings.HasPrefix(words, nobodyAnswered) }

// TimeoutWords deny a request that nobody answered within this time.
func TimeoutWords(waited time.Duration) string {
	return nobodyAnswered + seconds(waited) +
		", and assent was told to deny in that case. No person has seen and refused it." + insteadWords
}

// FailureWords deny a request that could not be put to anybody. They are plain ASCII without
// quotes and backslashes if why is.
func FailureWords(why string) string {
	if why != "" {
		why = " (" + why + ")"
	}
	return "assent could not put this permission request to anybody" + why +
		", and was told to deny in that case. No person has seen and refused it." + insteadWords
}

// seconds is a duration in whole seconds, as a person says it.
func seconds(d time.Duration) string {
	n := int64(max(d.Round(time.Second)/time.Second, 1))
	if n == 1 {
		return "1 second"
	}
	return strconv.FormatInt(n, 10) + " seconds"
}
