// Package partial keeps answers while they come in, so that one whose request is
// lost goes on from what has been seen of it.
//
// # Why going on is exact
//
// A request is lost when its process is killed, its replica dies, its connection
// is cut or falls silent. The answers under way then are the long ones more often
// than not. Drawn anew they come back with the length of any answer, shorter on
// average; where wrong answers are long, that makes a mean too high.
//
// The tokens of an answer are drawn one after the other, each given those before
// it. So at any moment that is chosen by what has been seen, or by something that
// has nothing to do with the answers, what is still to come has the law of a
// continuation of what has been seen. Going on from there draws the rest from just
// that law: the whole has the law of an answer that nothing has happened to, and is
// independent of the others. What must not be done is to learn that an answer has
// not ended, and then to forget its beginning.
//
// A process that is killed forgets what it has not written. What is left must
// therefore be all that had been seen at one moment, of all answers, and that moment
// must not follow from the answers. Were whole answers written at once and pieces
// now and then, those that ended in between would be kept and the others fall back;
// were pieces written whenever an answer ends, the last time would tell that none
// has ended since. So everything is written at the ticks of a clock, in one line
// that a kill leaves whole or not at all, and an answer is stored, scored and looked
// at after its tick alone. What came in after the last tick nobody has known, so that
// it is as if it had never come.
//
// The moments are exact up to the time that the write of a tick takes, some
// microseconds by which it is longer for many answers than for few. What a server
// holds back is not exact either: one that tells tokens some at a time, and the rest
// at the end of an answer, has been known not to have ended in between (vLLM's
// --stream-interval, 1 by default). A machine that stops, in contrast to a process,
// may keep answers of the last second and lose pieces.
package partial
