package mail

// Names of warnings. A warning is counted and printed; it never makes a
// command fail.
const (
	WarnDateMissing  = "date_missing"           // no Date header that can be read
	WarnDateRange    = "date_out_of_range"      // before 1980-01-02 or more than two days from now
	WarnDateNoZone   = "date_without_zone"      // taken as UTC
	WarnDateOdd      = "nonstandard_date"       // not in RFC 5322's form
	WarnNamedZone    = "named_zone"             // EST, PDT … instead of an offset
	WarnBadZone      = "bad_zone"               // an offset that cannot be read
	WarnYear3        = "three_digit_year"       // 101 for 2001
	WarnDuplicate    = "duplicate_header"       // a header that may stand once stands twice
	WarnHeaderJunk   = "junk_in_header"         // a line of the header that is none
	WarnNoBlankLine  = "no_blank_line"          // the body follows the header at once
	WarnNoMessageID  = "message_id_missing"     // the id was made from the content
	WarnBase64       = "base64_damaged"         // decoded as far as it goes
	WarnBoundary     = "missing_close_boundary" // a multipart that never ends
	WarnTooDeep      = "too_deep"               // more than 100 levels of parts
	WarnNul          = "nul_removed"            // NUL bytes in the text
	WarnCharset      = "unknown_charset"        // read as UTF-8 or windows-1252
	WarnResidue      = "encoding_residue"       // =20 left in a text that is not quoted-printable
	WarnNoText       = "no_text_part"           // nothing to read in the message
	WarnXAddress     = "address_from_x_header"  // no address in From, To, Cc or Bcc: taken from X-From and its like
	WarnWrongCharset = "wrong_charset"          // the label says another charset than the text is in
	WarnTooMuch      = "too_many_parts"         // more parts, or parts within parts, than are read
	WarnTruncated    = "too_large"              // only the beginning of the message was read
	WarnAddress      = "odd_address"            // an address that had to be repaired
	WarnContentType  = "bad_content_type"       // a Content-Type that cannot be read
)
