package mail

import (
	"regexp"
	"strings"
)

// replyMarks are those of replies and forwards in some languages, and the tags
// of lists.
var replyMarks = regexp.MustCompile(`^(?i)(\s*((re|fw|fwd|aw|wg|sv|vs|antw|tr|rv|res|enc)\s*(\[\d+\]|\(\d+\)|\^\d+)?\s*:|\[[^\]\s]{1,40}\]))+`)

// Topic is a subject by which mails of one matter are recognised: without the
// marks of replies, forwards and lists, in lower case, blanks folded.
func Topic(subject string) string {
	return strings.ToLower(strings.Join(strings.Fields(replyMarks.ReplaceAllString(subject, "")), " "))
}

// IsReply reports whether a subject says that its mail answers or forwards
// another one.
func IsReply(subject string) bool {
	mark := replyMarks.FindString(subject)
	return strings.Contains(mark, ":")
}
